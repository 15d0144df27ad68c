import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { KIND_OF_CODE } from '../../src/model/error.ts';
import { DISK } from '../../src/stores/disk/backend.ts';
import { GITHUB } from '../../src/stores/github/backend.ts';
import { EFFECTS } from '../../src/stores/layers/wrap.ts';
import { S3 } from '../../src/stores/s3/backend.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = await readFile(join(PROJECT, 'docs/writing-a-store.md'), 'utf8');

/** The example files of the page: TypeScript blocks, each preceded by a line with its path. */
const EXAMPLES = [...PAGE.matchAll(/^`([\w/.-]+\.ts)`:?\n\n```ts\n(.*?)^```$/gms)].map(([, path = '', code = '']) => ({
  path,
  code,
}));

const folder = await mkdtemp(join(tmpdir(), 'holdall-example-'));
after(() => rm(folder, { recursive: true, force: true }));
await createProject();
// Registers the contract suite.
await import(pathToFileURL(join(folder, 'tests/contract/sqlite.test.ts')).href);

describe('The example store of docs/writing-a-store.md', () => {
  it('consists of a store, its contract test, its settings, its descriptor and its checks', () => {
    assert.deepEqual(
      EXAMPLES.map(({ path }) => path),
      [
        'src/stores/sqlite/sqlite.ts',
        'tests/contract/sqlite.test.ts',
        'src/stores/sqlite/settings.ts',
        'src/stores/sqlite/backend.ts',
        'src/stores/sqlite/checks.ts',
      ],
    );
  });

  it('compiles', IN_FULL_FORM_ONLY, async () => {
    await promisify(execFile)(process.execPath, [join(PROJECT, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
      ({ stdout }: { stdout: string }) => assert.fail(stdout),
    );
  });
});

describe('The reference tables of docs/writing-a-store.md', () => {
  const codesOf = (heading: string) => {
    const [section = ''] = (PAGE.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ');
    const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
    return cells.flatMap((cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, code = '']) => code)).toSorted();
  };

  it('list every optional member of a store', () => {
    const required = ['list', 'stat', 'read', 'write', 'remove', 'createFolder', 'removeFolder'];
    const optional = Object.keys(EFFECTS).filter((member) => !required.includes(member));
    assert.deepEqual(codesOf('Capabilities'), optional.toSorted());
  });

  it('list the optional members of each backend', () => {
    const rows = [...PAGE.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| (all|[a-z, ]+) \|$/gm)];
    const membersOf = (backend: string) =>
      rows
        .filter(([, , backends = '']) => backends === 'all' || backends.split(', ').includes(backend))
        .flatMap(([, members = '']) => members.replaceAll('`', '').split(', '));
    for (const [name, { capabilities }] of Object.entries({ disk: DISK, bucket: S3, repository: GITHUB })) {
      assert.deepEqual(new Set(membersOf(name)), new Set<string>(capabilities), name);
    }
  });

  it('list every kind of error', () => {
    assert.deepEqual(codesOf('Errors'), [...new Set(Object.values(KIND_OF_CODE))].toSorted());
  });
});

/** Creates a project in `folder` that consists of the examples and links to this project. */
async function createProject(): Promise<void> {
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
}
