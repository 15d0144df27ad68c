import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { checkMarkdown, checkSource, checkTest, readAvoidedPhrases } from './prose/phrases.ts';

/*
 * Fails if a page of the docs, a comment, a string literal outside of the tests, or the title of a test contains a phrase
 * that CONTRIBUTING.md lists under "Terminology". Prints each one with its file, line and replacement.
 */
const phrases = readAvoidedPhrases(readFileSync('CONTRIBUTING.md', 'utf8'), 'Terminology');
let files = 0;
let findings = 0;
const CHECKED = [
  '*.md',
  'docs/**/*.md',
  'src/**/*.ts',
  'bin/*.js',
  'web/*.ts',
  'web/src/**/*.{ts,tsx}',
  'bench/**/*.ts',
  'scripts/**/*.{js,ts}',
  'testing/**/*.{js,ts}',
  'tests/**/*.{ts,tsx}',
];
for await (const file of glob(CHECKED)) {
  const text = readFileSync(file, 'utf8');
  for (const { line, phrase, replacement } of check(file, text)) {
    process.stderr.write(`${file}:${line}: "${phrase}". Write: ${replacement}.\n`);
    findings++;
  }
  files++;
}
process.stdout.write(`Prose of ${files} files checked for ${phrases.length} phrases\n`);
process.exitCode = findings > 0 ? 1 : 0;

function check(file: string, text: string) {
  if (file.endsWith('.md')) return checkMarkdown(text, phrases);
  // Strings of the tests and their servers are data, such as names of users.
  return /^test(?:s|ing)\//.test(file) ? checkTest(file, text, phrases) : checkSource(file, text, phrases);
}
