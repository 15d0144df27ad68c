import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { checkMarkdown, checkSource, readAvoidedPhrases } from './prose/phrases.ts';

/*
 * Fails if the docs, or a comment or string literal of the service, contain a phrase that CONTRIBUTING.md lists under
 * "Terminology". Prints each one with its file, line and replacement.
 */
const phrases = readAvoidedPhrases(readFileSync('CONTRIBUTING.md', 'utf8'), 'Terminology');
/** Pages that are not checked yet. */
const PENDING = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'docs/'];
let files = 0;
let findings = 0;
for await (const file of glob(['*.md', 'docs/**/*.md', 'src/**/*.ts', 'bin/*.js'])) {
  if (PENDING.some((path) => file.startsWith(path))) continue;
  const text = readFileSync(file, 'utf8');
  const found = file.endsWith('.md') ? checkMarkdown(text, phrases) : checkSource(file, text, phrases);
  for (const { line, phrase, replacement } of found) {
    process.stderr.write(`${file}:${line}: "${phrase}". Write: ${replacement}.\n`);
  }
  files++;
  findings += found.length;
}
process.stdout.write(`Prose of ${files} files checked for ${phrases.length} phrases\n`);
process.exitCode = findings > 0 ? 1 : 0;
