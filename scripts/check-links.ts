import { existsSync, readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { checkLinks } from './links/check.ts';

/* Fails if a link or image of a Markdown page leads to a missing file or heading. Prints each one with its line. */

const pages = new Map<string, string>();
for await (const page of glob(['*.md', 'docs/**/*.md'])) pages.set(page, readFileSync(page, 'utf8'));
const problems = checkLinks(pages, existsSync);
for (const { page, line, message } of problems) process.stderr.write(`${page}:${line}: ${message}\n`);
process.stdout.write(`Links of ${pages.size} pages checked\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
