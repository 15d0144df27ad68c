import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { PACKAGE_FOLDER } from '../../system.ts';

/** Where `npm run build` puts the web page. */
export const BUILT_PAGE = join(PACKAGE_FOLDER, 'web/dist');

/** The web page as it was built: the names, in the folder `assets`, of what its document loads. */
export interface WebPage {
  /** The folder of everything that the page loads, now or later. */
  readonly assets: string;
  /** The module that makes the page. */
  readonly script: string;
  /** The modules that it can't begin without. */
  readonly imports: readonly string[];
  readonly styles: readonly string[];
  /** A script, and no module, that runs before anything is shown. */
  readonly early: string | undefined;
  readonly icon: string | undefined;
}

/** There is no page to serve, it can't be read, or it is not what a build leaves. */
export class PageNotBuilt extends Error {
  override readonly name = 'PageNotBuilt';
}

/** Reads what a build left in `folder`. Throws `PageNotBuilt` with what to do about it. */
export async function readWebPage(folder: string): Promise<WebPage> {
  const manifest = await readManifest(join(folder, '.vite/manifest.json'));
  const chunks = chunksOf(manifest, 'src/main.tsx');
  const [entry, ...imported] = chunks;
  if (!entry) throw new PageNotBuilt(`The web page in ${folder} has no entry src/main.tsx: run "npm run build".`);
  return {
    assets: join(folder, ASSETS),
    script: nameOf(entry.file),
    imports: imported.map(({ file }) => nameOf(file)),
    styles: [...new Set(chunks.flatMap(({ css = [] }) => css))].map(nameOf),
    early: optionalName(manifest['src/early.ts']),
    icon: optionalName(manifest['src/mark.svg']),
  };
}

const ASSETS = 'assets/';

/** What Vite writes of each source that became a file, as far as it is of use here. */
const Chunk = Type.Object({
  file: Type.String({ pattern: `^${ASSETS}` }),
  css: Type.Optional(Type.Array(Type.String({ pattern: `^${ASSETS}` }))),
  imports: Type.Optional(Type.Array(Type.String())),
});
type Chunk = Static<typeof Chunk>;

const Manifest = Type.Record(Type.String(), Chunk);
type Manifest = Static<typeof Manifest>;

async function readManifest(file: string): Promise<Manifest> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PageNotBuilt(describeUnread(file, error), { cause: error });
  });
  try {
    return Value.Parse(Manifest, JSON.parse(text));
  } catch (error) {
    throw new PageNotBuilt(`The web page is not built right (${file} can't be read): run "npm run build".`, {
      cause: error,
    });
  }
}

function describeUnread(file: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return `The web page is not built (there is no ${file}): run "npm run build".`;
  if (code !== 'EACCES') return `The web page can't be read: ${String(error)}`;
  return `The web page can't be read by this user (${file}): let the user who runs the service read it.`;
}

/** A source's own chunk, and those that it imports, directly or not; none where it was not built. */
function chunksOf(manifest: Manifest, source: string): Chunk[] {
  const found = new Map<string, Chunk>();
  const follow = (key: string) => {
    const chunk = manifest[key];
    if (!chunk || found.has(key)) return;
    found.set(key, chunk);
    chunk.imports?.forEach(follow);
  };
  follow(source);
  return [...found.values()];
}

const nameOf = (file: string) => file.slice(ASSETS.length);

const optionalName = (chunk: Chunk | undefined) => chunk && nameOf(chunk.file);
