// Tokens in a row or a column that can be pointed at, walked through and chosen: a listbox whose
// options are the tokens, one of them in the page's tab order.

import { make } from "./page.js";
import { isSpecial, shorten } from "./text.js";

const SIDES = { query: "Queries: the tokens that attend", key: "Keys: the tokens attended to" };

export function tokenList(side, orientation, label = SIDES[side]) {
  const role = { role: "listbox", "aria-orientation": orientation, "aria-label": label };
  return make("div", { class: `av-list av-${side}`, ...role });
}

export function tokenOption(side, index, token, raw = token, extra = "") {
  const place = { tabindex: index === 0 ? 0 : -1, "data-side": side, "data-index": index };
  const named = { role: "option", "aria-label": `${token}, ${side} ${index + 1}`, "aria-selected": "false" };
  const title = raw === token ? token : `${token}  (in the vocabulary: ${raw})`;
  const style = `av-option ${extra}${isSpecial(token) ? " av-special" : ""}`;
  const word = make("span", { class: "av-token", dir: "auto" }, shorten(token));
  return make("div", { class: style, ...named, ...place, title }, word);
}

export const tokenOf = (option) => ({ side: option.dataset.side, index: Number(option.dataset.index) });

// The option that the Tab key comes to.
export function setRoving(options, chosen) {
  for (const one of options) one.tabIndex = one === chosen ? 0 : -1;
}
