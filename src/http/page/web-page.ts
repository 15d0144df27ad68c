import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from '../../system.ts';

/** The folder to which `npm run build` writes the web UI. */
export const BUILT_PAGE = join(PACKAGE_FOLDER, 'web/dist');

/** The script of the API reference, compressed with gzip, in the folder of the build. */
export const API_REFERENCE = 'api-reference.js.gz';

/** The script of the service worker, in the folder of the build. */
export const SERVICE_WORKER = 'service-worker.js';

/** The built web UI: the names of its files in the folder `assets`. */
export interface WebPage {
  /** The folder of all files that the web UI loads, at once or lazily. */
  readonly assets: string;
  /** The entry module. */
  readonly script: string;
  /** Modules that the entry module imports statically. */
  readonly imports: readonly string[];
  readonly styles: readonly string[];
  /** A classic script that runs before the first paint. */
  readonly early: string | undefined;
  /** A module that requests the texts of the user's language while the browser loads the other scripts. */
  readonly language: string | undefined;
  readonly icon: string | undefined;
  /** The icons of the installed web UI, by the names of their sources. */
  readonly appIcons: Readonly<Record<AppIcon, string>>;
  /** The module of the page that the service worker shows without a connection, its style sheets and its imports. */
  readonly offline: {
    readonly script: string;
    readonly imports: readonly string[];
    readonly styles: readonly string[];
  };
  /** The script of the service worker. */
  readonly serviceWorker: string;
}

const APP_ICONS = ['icon-192', 'icon-512', 'maskable-512', 'apple-touch-180', 'monochrome-192'] as const;
export type AppIcon = (typeof APP_ICONS)[number];

/** Thrown if the web UI is missing, unreadable, or not a valid build. */
export class PageNotBuilt extends Error {
  override readonly name = 'PageNotBuilt';
}

/** Reads the build in `folder`. Throws `PageNotBuilt`, whose message contains the remedy. */
export async function readWebPage(folder: string): Promise<WebPage> {
  const manifest = await readManifest(join(folder, '.vite/manifest.json'));
  const chunks = chunksOf(manifest, 'src/main.tsx');
  const [entry, ...imported] = chunks;
  if (!entry)
    throw new PageNotBuilt(`The build of the web UI in ${folder} has no entry src/main.tsx. Run "npm run build".`);
  const styles = stylesOf(chunks);
  const [offline, ...offlineImports] = chunksOf(manifest, 'src/app/offline.ts');
  const appIcons = appIconsOf(manifest);
  if (!offline || !appIcons)
    throw new PageNotBuilt(`The build of the web UI in ${folder} is incomplete. Run "npm run build".`);
  return {
    assets: join(folder, ASSETS),
    script: nameOf(entry.file),
    imports: imported.map(({ file }) => nameOf(file)),
    styles,
    early: optionalName(manifest['src/early.ts']),
    language: optionalName(manifest['src/first-language.ts']),
    icon: optionalName(manifest['src/ui/mark.svg']),
    appIcons,
    offline: {
      script: nameOf(offline.file),
      imports: offlineImports.map(({ file }) => nameOf(file)),
      styles: [...new Set([...styles, ...stylesOf([offline, ...offlineImports])])],
    },
    serviceWorker: await readBuilt(join(folder, SERVICE_WORKER)),
  };
}

const ASSETS = 'assets/';

/** The used fields of a chunk in Vite's manifest. */
interface Chunk {
  readonly file: string;
  readonly css: readonly string[];
  readonly imports: readonly string[];
}

type Manifest = Readonly<Record<string, Chunk>>;

async function readManifest(file: string): Promise<Manifest> {
  const text = await readBuilt(file);
  try {
    return parseManifest(JSON.parse(text));
  } catch (error) {
    throw new PageNotBuilt(`The build of the web UI is damaged (${file} can't be read). Run "npm run build".`, {
      cause: error,
    });
  }
}

async function readBuilt(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new PageNotBuilt(describeUnread(file, error), { cause: error });
  });
}

/**
 * Checks the used fields by hand: each start of the service does this, and a check by a schema takes 15 ms the first
 * time.
 *
 * @throws if the value is not a manifest
 */
function parseManifest(value: unknown): Manifest {
  if (!isRecord(value)) throw new TypeError('The manifest is not an object.');
  return Object.fromEntries(Object.entries(value).map(([source, chunk]) => [source, parseChunk(source, chunk)]));
}

function parseChunk(source: string, value: unknown): Chunk {
  if (!isRecord(value)) throw new TypeError(`The chunk "${source}" is not an object.`);
  const { file, css = [], imports = [] } = value;
  if (!isAsset(file) || !isListOf(css, isAsset) || !isListOf(imports, isString))
    throw new TypeError(`The chunk "${source}" has an invalid file, css or imports.`);
  return { file, css, imports };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isString = (value: unknown): value is string => typeof value === 'string';

const isAsset = (value: unknown): value is string => isString(value) && value.startsWith(ASSETS);

const isListOf = <Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] =>
  Array.isArray(value) && value.every(isItem);

function describeUnread(file: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return `The web UI is not built (${file} does not exist). Run "npm run build".`;
  if (code !== 'EACCES') return `The build of the web UI can't be read: ${String(error)}`;
  return `The user of the service can't read the web UI (${file}). Grant the user read permission.`;
}

/**
 * Returns the chunk of a source and all chunks that it imports, directly or indirectly; empty if the source was not
 * built.
 */
function chunksOf(manifest: Manifest, source: string): Chunk[] {
  const found = new Map<string, Chunk>();
  const follow = (key: string) => {
    const chunk = manifest[key];
    if (!chunk || found.has(key)) return;
    found.set(key, chunk);
    chunk.imports.forEach(follow);
  };
  follow(source);
  return [...found.values()];
}

/** Returns the names of the icons; undefined if the build lacks one. */
function appIconsOf(manifest: Manifest): Readonly<Record<AppIcon, string>> | undefined {
  const names = APP_ICONS.map((icon) => [icon, optionalName(manifest[`src/app-icons/${icon}.png`])] as const);
  // All icons have a name, because none is undefined.
  return names.some(([, name]) => name === undefined)
    ? undefined
    : (Object.fromEntries(names) as Record<AppIcon, string>);
}

const stylesOf = (chunks: readonly Chunk[]) => [...new Set(chunks.flatMap(({ css }) => css))].map(nameOf);

const nameOf = (file: string) => file.slice(ASSETS.length);

const optionalName = (chunk: Chunk | undefined) => chunk && nameOf(chunk.file);
