import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
export const PAGE = await readFile(join(PROJECT, 'docs/writing-a-store.md'), 'utf8');

/** The example files of the page: TypeScript blocks, each preceded by a line with its path. */
export const EXAMPLES = [...PAGE.matchAll(/^`([\w/.-]+\.ts)`:?\n\n```ts\n(.*?)^```$/gms)].map(
  ([, path = '', code = '']) => ({ path, code }),
);

/** A project that consists of the examples and links to this project. */
export interface ExampleProject {
  readonly folder: string;
  remove(): Promise<void>;
}

export async function createExampleProject(): Promise<ExampleProject> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-example-'));
  for (const { path, code } of EXAMPLES) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), code);
  }
  for (const parent of ['.', 'src', 'src/stores', 'tests', 'tests/contract']) {
    const present = await readdir(join(folder, parent));
    const others = (await readdir(join(PROJECT, parent))).filter((name) => !present.includes(name));
    for (const name of others) await symlink(join(PROJECT, parent, name), join(folder, parent, name));
  }
  await rm(join(folder, 'tsconfig.json'));
  const include = [...EXAMPLES.map(({ path }) => path), join(PROJECT, 'src/**/*.d.ts')];
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ extends: join(PROJECT, 'tsconfig.json'), include }));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
