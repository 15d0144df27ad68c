import { readFileSync, writeFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CatalogueSource } from '../web/message-compiler.ts';
import { LANGUAGE_TAGS } from '../web/src/platform/text/supported-languages.ts';
import { checkCatalogue, declareText } from './messages/catalogues.ts';

/*
 * Fails if a catalogue of the web UI lacks a message or a plural category, has a message or a parameter that English
 * lacks, or has invalid syntax, and if the declaration of the texts is outdated. With `--write`, it writes the
 * declaration first.
 */
const FOLDER = 'web/src/platform/text/catalogues';
const DECLARATION = 'web/src/platform/text/text.ts';

const english = readCatalogue('en');
const declaration = declareText(english);
if (process.argv.includes('--write')) writeFileSync(DECLARATION, declaration);

const tags = (await Array.fromAsync(glob(`${FOLDER}/*.json`))).map((file) => basename(file, '.json'));
const problems = tags.flatMap((tag) =>
  checkCatalogue({ tag, catalogue: readCatalogue(tag), english }).map((problem) => `${FOLDER}/${tag}.json: ${problem}`),
);
for (const tag of new Set(tags).symmetricDifference(new Set<string>(LANGUAGE_TAGS))) {
  problems.push(
    `${tag} needs both a catalogue in ${FOLDER} and an entry in web/src/platform/text/supported-languages.ts.`,
  );
}
if (readFileSync(DECLARATION, 'utf8') !== declaration) {
  problems.push(`${DECLARATION} is outdated. Run "npm run messages".`);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

function readCatalogue(tag: string): CatalogueSource {
  return JSON.parse(readFileSync(`${FOLDER}/${tag}.json`, 'utf8')) as CatalogueSource;
}
