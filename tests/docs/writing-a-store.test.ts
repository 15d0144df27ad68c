import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KIND_OF_CODE } from '../../src/model/error.ts';
import { DISK } from '../../src/stores/disk/backend.ts';
import { GITHUB } from '../../src/stores/github/backend.ts';
import { EFFECTS } from '../../src/stores/layers/wrap.ts';
import { S3 } from '../../src/stores/s3/backend.ts';
import { createExampleProject, EXAMPLES, PAGE } from './example-store.ts';

const project = await createExampleProject();
after(() => project.remove());
// Registers the contract suite.
await import(pathToFileURL(join(project.folder, 'tests/contract/sqlite.test.ts')).href);

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
