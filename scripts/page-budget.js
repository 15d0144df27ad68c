import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Maximum bytes, after gzip, that the browser loads before it shows the page. */
const FIRST_LOAD = { script: 52_000, styles: 12_000 };

/** Maximum bytes, after gzip, of the scripts and styles that the browser loads after the rows of a folder: the chunk `folder`. */
const AFTER_ROWS = 70_000;

/**
 * Maximum bytes, after gzip, of the scripts and styles that the browser loads for each part of the page on demand, in
 * addition to the first load and the chunk `folder`. Keys are names of source files.
 *
 * @type {Readonly<Record<string, number>>}
 */
const ON_DEMAND = {
  'connect-dialog': 9_300,
  extract: 31_000,
  'details-sheet': 4_500,
  'direct-parts': 4_000,
  'folder-picker': 3_700,
  'json-preview': 7_200,
  'markdown-preview': 17_900,
  'links-view': 12_500,
  // These contain CodeMirror, and the languages also what they share with it.
  'open-editor': 127_000,
  'other-languages': 138_500,
  'python-language': 127_500,
  'web-languages': 186_000,
  'yaml-language': 110_000,
  'office-preview': 9_100,
  palette: 6_100,
  // The parser of HTML, for Markdown that contains some.
  'parse-html': 56_000,
  'rotate-photo': 2_900,
  'qr-code': 4_100,
  'share-dialog': 8_800,
  'rename-dialog': 2_900,
  'request-page': 3_800,
  'recent-view': 7_100,
  'sign-in-page': 3_100,
  'table-preview': 7_200,
  'text-preview': 4_100,
  'trash-view': 8_000,
  visit: 6_100,
  worker: 108_000,
};

/** The texts of a language that the browser loads before it shows the page, in Vite's manifest. */
const IS_INITIAL_CATALOGUE = /\/text\/catalogues\/.*\?initial$/;
const IS_CATALOGUE = /\/text\/catalogues\//;

/** The maximum of the texts of one language, and that of each part without an entry in `ON_DEMAND`. */
const LANGUAGE = 15_000;
const OTHER = 2_800;

/**
 * Returns the sizes and budgets of all parts of the built page. A part without a file has the size 0.
 *
 * @param {string} folder the build
 * @param {ReadonlyMap<string, number>} sizes after gzip, by the name of the asset
 * @param {import('../src/http/page/web-page.ts').WebPage} page
 * @returns {Promise<{ name: string, bytes: number, budget: number, isOnEachPage: boolean }[]>}
 */
export async function measurePage(folder, sizes, { script, imports, early, language, styles }) {
  const sum = (/** @type {Iterable<string>} */ names) =>
    [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
  const scripts = [script, ...imports, ...[early, language].filter((name) => name !== undefined)];
  const first = new Set([...scripts, ...styles]);
  /** @type {Manifest} */
  const manifest = JSON.parse(await readFile(join(folder, '.vite/manifest.json'), 'utf8'));
  const [afterRows = ''] = Object.entries(manifest).find(([, { name }]) => name === 'folder') ?? [];
  const known = first.union(assetsOf(manifest, afterRows));
  const catalogues = Object.entries(manifest).filter(([source]) => IS_INITIAL_CATALOGUE.test(source));
  const largestCatalogue = Math.max(...catalogues.map(([, { file }]) => sizes.get(basename(file)) ?? 0));
  const parts = new Map(Object.keys(ON_DEMAND).map((name) => [name, { budget: ON_DEMAND[name] ?? 0, bytes: 0 }]));
  for (const [source, { name = '', isDynamicEntry }] of Object.entries(manifest)) {
    if (!isDynamicEntry) continue;
    const budget = ON_DEMAND[name] ?? (IS_CATALOGUE.test(source) ? LANGUAGE : OTHER);
    parts.set(IS_CATALOGUE.test(source) ? source : name, {
      budget,
      bytes: sum(assetsOf(manifest, source).difference(known)),
    });
  }
  // The manifest does not contain workers.
  const listed = new Set(Object.values(manifest).map(({ file }) => basename(file)));
  for (const [asset, bytes] of sizes) {
    if (!asset.endsWith('.js') || listed.has(asset)) continue;
    const name = asset.slice(0, asset.lastIndexOf('-', asset.length - HASH_LENGTH));
    parts.set(name, { budget: ON_DEMAND[name] ?? OTHER, bytes });
  }
  return [
    // The browser also loads the texts of one language before it shows the page.
    { name: 'script', bytes: sum(scripts) + largestCatalogue, budget: FIRST_LOAD.script, isOnEachPage: true },
    { name: 'styles', bytes: sum(styles), budget: FIRST_LOAD.styles, isOnEachPage: true },
    { name: 'folder', bytes: sum(known.difference(first)), budget: AFTER_ROWS, isOnEachPage: true },
    ...[...parts].map(([name, part]) => ({ name, ...part, isOnEachPage: false })),
  ];
}

/** The length of the hash at the end of a name, and of the extension. */
const HASH_LENGTH = 'XXXXXXXX.js'.length;

/** @typedef {Record<string, { file: string, name?: string, isDynamicEntry?: boolean, imports?: string[], css?: string[] }>} Manifest */

/**
 * Returns the names of all assets that a chunk loads, directly or indirectly.
 *
 * @param {Manifest} manifest
 * @param {string} source
 * @returns {Set<string>}
 */
function assetsOf(manifest, source) {
  /** @type {Set<string>} */
  const followed = new Set();
  /** @type {Set<string>} */
  const assets = new Set();
  const follow = (/** @type {string} */ key) => {
    const chunk = manifest[key];
    if (!chunk || followed.has(key)) return;
    followed.add(key);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) assets.add(basename(file));
    chunk.imports?.forEach(follow);
  };
  follow(source);
  return assets;
}
