import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { fetched } from "../../web/static/model_files.js";

const [OLD, NEW] = ["http://site/model-0123456789ab.safetensors", "http://site/model-ba9876543210.safetensors"];
let asked, kept;

beforeEach(() => {
  asked = [];
  kept = new Map();
  const cache = {
    match: async (address) => kept.get(address)?.clone(),
    put: async (address, response) => kept.set(address, response),
    keys: async () => [...kept.keys()].map((url) => ({ url })),
    delete: async ({ url }) => kept.delete(url),
  };
  globalThis.caches = { open: async () => cache };
  globalThis.fetch = async (address) => {
    asked.push(address);
    return new Response(Uint8Array.of(1, 2, 3));
  };
});

test("a file is fetched once, and its progress told", async () => {
  const told = [];
  for (const _ of [1, 2]) assert.deepEqual([...new Uint8Array(await fetched(NEW, (n) => told.push(n)))], [1, 2, 3]);
  assert.deepEqual(asked, [NEW]);
  assert.equal(told.at(-1), 3);
});

test("an older version of the same file leaves, other files stay", async () => {
  for (const address of [OLD, "http://site/other-0123456789ab.json", NEW]) await fetched(address);
  assert.deepEqual([...kept.keys()], ["http://site/other-0123456789ab.json", NEW]);
});

test("without a cache, or without room in it, the file comes all the same", async () => {
  const { caches } = globalThis;
  const full = { ...(await caches.open()), put: async () => Promise.reject(new Error("no room")) };
  for (const broken of [undefined, { open: async () => Promise.reject(new Error("not here")) }, { open: async () => full }]) {
    globalThis.caches = broken;
    assert.equal((await fetched(NEW)).byteLength, 3);
  }
});

test("an answer that is an error is none", async () => {
  globalThis.fetch = async () => new Response("gone", { status: 404 });
  await assert.rejects(fetched(NEW), /404/);
  assert.equal(kept.size, 0);
});
