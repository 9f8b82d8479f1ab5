// The translator's files: fetched once, then kept by the browser.

const CACHE = "course-translator";

// Fetch a file, or find it in the cache. `progress` hears how many bytes have come.
export async function fetched(address, progress = () => {}) {
  const cache = await opened();
  const kept = cache && (await cache.match(address));
  if (kept) return kept.arrayBuffer();
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status}`);
  const parts = [];
  let n = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    progress((n += value.length));
  }
  const whole = await new Blob(parts).arrayBuffer();
  if (cache) await keep(cache, address, whole);
  return whole;
}

async function keep(cache, address, whole) {
  const name = (url) => url.replace(/-[0-9a-f]{12}\./, ".");
  try {
    for (const old of await cache.keys()) if (name(old.url) === name(String(address))) await cache.delete(old);
    await cache.put(address, new Response(whole));
  } catch {
    // No room for it: the next visit fetches it again.
  }
}

// Pages that came over plain http have no such cache; the browser's ordinary one serves them.
async function opened() {
  try {
    return await globalThis.caches?.open(CACHE);
  } catch {
    return null;
  }
}
