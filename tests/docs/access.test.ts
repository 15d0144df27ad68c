import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type AccessFile, parseAccessFile } from '../../src/access/access-file.ts';
import { type Identity, PERMISSIONS } from '../../src/access/policy.ts';
import { REQUIREMENTS } from '../../src/cli/explanation.ts';
import { parseFolder } from '../../src/model/path.ts';
import { runCli } from '../../testing/cli.ts';
import { type Need, readDocumentedNeeds } from '../access/documented-needs.ts';

const readPage = (path: string) => readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
const PAGE = await readPage('reference/access-file.md');

describe('The access documentation', () => {
  it('has valid example files, each with a correct table of permissions', () => {
    const examples = examplesOf(PAGE);
    assert.ok(examples.length >= 7);
    for (const { text, table } of examples) {
      const access = parseAccessFile(text);
      const [head = [], ...rows] = table;
      assert.ok(rows.length >= 3, text);
      for (const [who = '', ...cells] of rows) {
        const client = clientOf(who, access);
        const found = head.slice(1).map((folder) => describeRights(access, client, folder));
        assert.deepEqual(cells, found, `${who} by ${text}`);
      }
    }
  });

  it('has working commands that create and change an access file', async () => {
    const pages = [
      '../README.md',
      'tutorials/team-server.md',
      'how-to/users-and-tokens.md',
      'how-to/docker.md',
      'how-to/systemd.md',
    ];
    const folder = await mkdtemp(join(tmpdir(), 'holdall-access-'));
    let isHashed = false;
    try {
      for (const [index, page] of pages.entries()) {
        const file = join(folder, `${index}.json`);
        const commands = (await readPage(page)).matchAll(
          /^ *(?:export \w+=\$\()?(?:npx )?holdall ((?:user|grant|token|access check) ?[^)\n]*)\)?$/gm,
        );
        const lines = Array.from(commands, ([, line = '']) => line);
        assert.ok(lines.length >= 2, page);
        for (const line of lines) {
          const args = line.split(' ').map((word) => (word.endsWith('access.json') ? file : word));
          // Hashing a password takes longer than all commands together.
          if (isHashed && line.startsWith('user add') && !args.includes('--no-password')) args.push('--no-password');
          isHashed ||= line.startsWith('user add');
          const { code, stderr } = await runCli(args, {
            environment: { ACCESS_FILE: file },
            input: 'correct horse battery',
          });
          assert.equal(code, 0, `${page}: ${line}: ${stderr}`);
        }
        assert.ok(parseAccessFile(await readFile(file, 'utf8')).users.length > 0, page);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('shows the actual output of the explain command', async () => {
    const [, command = '', printed] =
      /```sh\nnpx holdall (access explain .*)\n```\n\n```text\n([^`]+)```/.exec(
        await readPage('how-to/users-and-tokens.md'),
      ) ?? assert.fail();
    const folder = await mkdtemp(join(tmpdir(), 'holdall-access-'));
    try {
      const file = join(folder, 'access.json');
      await writeFile(file, examplesOf(PAGE)[0]?.text ?? '');
      const args = command.split(' ').map((word) => (word === 'access.json' ? file : word));
      const { stdout, stderr } = await runCli(args);
      assert.deepEqual([stdout, stderr], [printed, '']);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('The subcommands of the CLI', () => {
  const DONE: Readonly<Record<string, readonly [Need['at'], file: string, folder: string]>> = {
    list: ['source', '', 'List a folder'],
    fetch: ['source', 'Fetch a file', ''],
    upload: ['source', 'Upload a new file', 'Upload a new file'],
    replace: ['destination', 'Copy a file over another', 'Copy a folder over another'],
    create: ['source', '', 'Create a folder'],
    delete: ['source', 'Delete a file', 'Delete a folder'],
    rename: ['source', 'Rename a file', 'Rename a folder'],
    'copy-from': ['source', 'Copy a file', 'Copy a folder'],
    'copy-to': ['destination', 'Copy a file', 'Copy a folder'],
    'move-from': ['source', 'Move a file', 'Move a folder'],
    'move-to': ['destination', 'Move a file', 'Move a folder'],
  };

  it('require the documented permissions', async () => {
    const rows = await readDocumentedNeeds();
    const needsAt = (title: string, at: Need['at']) => {
      const needs = rows.find((row) => row.title === title)?.needs ?? assert.fail(title);
      return needs.filter((need) => need.at === at);
    };
    const verbs = Object.entries(REQUIREMENTS).filter(([verb]) => !PERMISSIONS.some((right) => right === verb));
    assert.deepEqual(verbs.map(([verb]) => verb).toSorted(), Object.keys(DONE).toSorted());
    for (const [verb, { file = [], folder = [], throughout = false, inParent = [] }] of verbs) {
      const [at, ofFile, ofFolder] = DONE[verb] ?? assert.fail(verb);
      const rightsOf = (title: string, end: Need['at']) => (title ? needsAt(title, end).map(({ right }) => right) : []);
      assert.deepEqual(file, rightsOf(ofFile, at), `${verb} a file`);
      assert.deepEqual(folder, rightsOf(ofFolder, at), `${verb} a folder`);
      // Only a rename also affects another path than the one that the command checks.
      if (verb === 'rename') assert.deepEqual(inParent, rightsOf(ofFolder, 'destination'));
      else assert.deepEqual(inParent, [], verb);
      if (!ofFolder) continue;
      for (const need of needsAt(ofFolder, at)) assert.equal(need.throughout, throughout, verb);
    }
  });
});

interface Example {
  /** An access file. */
  readonly text: string;
  /** The header and the rows of the first table after it whose first column is "user". */
  readonly table: readonly (readonly string[])[];
}

function examplesOf(page: string): Example[] {
  return page
    .split('```json\n')
    .slice(1)
    .filter((part) => part.includes('"grants"'))
    .map((part) => {
      const [text = '', behind = ''] = part.split(/```\n([^]*)/);
      const lines = behind.split('\n');
      const table = lines.slice(lines.findIndex((line) => line.startsWith('| user |')));
      const end = table.findIndex((line) => !line.startsWith('|'));
      const rows = table.slice(0, end).map((line) =>
        line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim().replaceAll('`', '')),
      );
      return { text, table: rows.filter(([first = '']) => !/^-+$/.test(first)) };
    });
}

/** Returns the user of the first cell of a row; undefined for an anonymous user. */
function clientOf(who: string, { policy }: AccessFile): Identity | undefined {
  if (who === 'anonymous') return undefined;
  if (who === 'any signed-in user') return { name: 'somebody', groups: [] };
  const [, group] = /^any member of (.+)$/.exec(who) ?? [];
  if (group !== undefined) return { name: 'somebody', groups: [group] };
  assert.ok(policy.userEntry(who), who);
  return { name: who, groups: [] };
}

function describeRights({ policy }: AccessFile, client: Identity | undefined, folder: string): string {
  const rights = PERMISSIONS.filter((right) => policy.allows(client, right, parseFolder(folder)));
  return rights.join(', ') || 'none';
}
