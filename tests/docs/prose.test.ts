import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { checkMarkdown, checkSource, checkTest, readAvoidedPhrases } from '../../scripts/prose/phrases.ts';

const TABLE = `
## Terminology

| write   | not                  |
| ------- | -------------------- |
| again   | \`anew\`, \`once more\` |
| at most | \`at the most\`        |

## Commits

| write | not       |
| ----- | --------- |
| other | \`section\` |
`;
const PHRASES = readAvoidedPhrases(TABLE, 'Terminology');

describe('The check of the prose', () => {
  it('reads the phrases of the table below the heading', () => {
    assert.deepEqual(PHRASES, [
      { phrase: 'anew', replacement: 'again' },
      { phrase: 'once more', replacement: 'again' },
      { phrase: 'at the most', replacement: 'at most' },
    ]);
  });

  it('fails without a table, instead of passing every text', () => {
    assert.throws(() => readAvoidedPhrases(TABLE, 'Words'), { message: 'No table of phrases below "Words".' });
    assert.throws(() => readAvoidedPhrases('## Words\n\nNone.\n', 'Words'), /No table/);
  });

  it('reads the phrases of CONTRIBUTING.md', async () => {
    const contributing = await readFile(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8');
    const phrases = readAvoidedPhrases(contributing, 'Terminology');
    assert.ok(phrases.some(({ phrase }) => phrase === 'in the place of'));
    assert.deepEqual(checkMarkdown(contributing, phrases), []);
  });

  it('reports a phrase with its line and replacement, in any case', () => {
    assert.deepEqual(checkMarkdown('# Uploads\n\nOnce more, they start anew.\n', PHRASES), [
      { line: 3, phrase: 'anew', replacement: 'again' },
      { line: 3, phrase: 'once more', replacement: 'again' },
    ]);
  });

  it('finds a phrase that continues on the next line of a paragraph, quotation, list or comment', () => {
    const lines = (findings: readonly { line: number }[]) => findings.map(({ line }) => line);
    assert.deepEqual(
      lines(checkMarkdown('Try once\nmore.\n\n> Try once\n> more.\n\n- Try once\n  more.\n', PHRASES)),
      [1, 4, 7],
    );
    const code = '/**\n * Tries at the\n * most twice.\n */\n// Tries once\n// more.\nexport {};\n';
    assert.deepEqual(lines(checkSource('a.ts', code, PHRASES)), [2, 5]);
  });

  it('checks table cells, headings and the text of links, and neither code nor URLs', () => {
    const page = [
      '# Start anew',
      '',
      '| one  | two           |',
      '| ---- | ------------- |',
      '| anew | `anew` *anew* |',
      '',
      '[once more](once%20more.md#anew), `anew`, <https://example.com/anew>',
      '',
      '```sh',
      'echo anew',
      '```',
      '',
      '    echo anew',
    ];
    assert.deepEqual(
      checkMarkdown(page.join('\n'), PHRASES).map(({ line, phrase }) => `${line} ${phrase}`),
      ['1 anew', '5 anew', '5 anew', '7 once more'],
    );
  });

  it('checks comments, strings and templates of a source file, and no names', () => {
    const code = [
      'const anew = 1; // Starts anew.',
      "export const text = 'Starts anew.';",
      'export const template = `${anew} starts anew, ${`and anew`}`;',
      '/* Passes `anew`. */',
      'export const expression = /anew/;',
    ];
    assert.deepEqual(
      checkSource('a.ts', code.join('\n'), PHRASES).map(({ line }) => line),
      [1, 2, 3, 3],
    );
  });

  it('checks the comments and titles of tests, and no other strings', () => {
    const code = [
      "describe('Starts anew', () => {",
      '  // Starts anew.',
      "  it(`starts ${name} anew`, () => run('anew'));",
      "  test('starts', () => {}, 'anew');",
      '});',
    ];
    assert.deepEqual(
      checkTest('a.test.ts', code.join('\n'), PHRASES).map(({ line }) => line),
      [1, 2, 3],
    );
  });

  it('matches whole words', () => {
    assert.deepEqual(checkMarkdown('A canew, anewer, re-anew and anewé: not there. At them most.', PHRASES), []);
  });

  it('refuses a source file that does not parse', () => {
    assert.throws(() => checkSource('broken.ts', 'const = 1;', PHRASES), /^Error: broken\.ts: /);
  });
});
