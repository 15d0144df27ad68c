import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { EXIT_CODES } from '../../src/system.ts';

const page = await readFile(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');

/** The sections of the commands by name. */
const sections = new Map(
  page
    .split('\n### holdall ')
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
);

/** Returns the rows of all tables of a text, without markup. */
function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) =>
    row.split(/(?<!\\) \| /).map((cell) => cell.replaceAll('`', '').replaceAll('\\|', '|')),
  );
}

describe('The page of the command line', () => {
  it('has a section for each command, in the order of the help', () => {
    assert.deepEqual(
      [...sections.keys()],
      COMMANDS.map(({ name }) => name),
    );
  });

  for (const { name, summary, details = '', arguments: positional = {}, options = [] } of COMMANDS) {
    it(`describes holdall ${name} as its help does`, () => {
      const section = sections.get(name) ?? '';
      assert.ok(section.includes(`\n\n${summary}.${details && ` ${details}`}\n`), section);
      const usage = ['holdall', name, ...Object.keys(positional), ...(options.length > 0 ? ['[options]'] : [])];
      assert.ok(section.includes(`\n${usage.join(' ')}\n`), section);
      const expected = [
        ...Object.entries(positional).map(([syntax, help]) => [syntax.replace(/[<>[\]]/g, ''), help]),
        ...options.map(({ flags, help }) => [flags, help]),
      ];
      assert.deepEqual(rowsOf(section).slice(1), expected);
      const hasJson = options.some(({ flags }) => flags === '--json');
      assert.equal(section.includes('\nWith `--json`: '), hasJson);
    });
  }

  it('has every exit code', () => {
    const [, table = ''] = page.split('## Exit codes');
    const codes = rowsOf(table.split('\n## ')[0] ?? '').map(([code]) => code);
    assert.deepEqual(codes.slice(1), Object.values(EXIT_CODES).map(String));
  });
});
