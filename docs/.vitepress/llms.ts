import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allPages, externalUrl, INDEX, type Page, readNavigation } from './navigation.ts';
import { description } from './project.ts';

/**
 * Writes `llms.txt` (https://llmstxt.org) into a built site, and the Markdown of each page, which it links to. Its URLs are
 * relative, like those of the site.
 */
export function writeLlmsTxt(site: string): void {
  const docs = fileURLToPath(new URL('../', import.meta.url));
  const groups = readNavigation();
  const line = ({ title, path, description: details }: Page) =>
    `- [${title}](${externalUrl(path) ?? path})${details === '' ? '' : `: ${details}`}`;
  const sections = groups.map((group) => `## ${group.title}\n\n${allPages(group).map(line).join('\n')}\n`);
  writeFileSync(join(site, 'llms.txt'), [`# Holdall\n\n> ${description}\n`, ...sections].join('\n'));
  for (const path of [INDEX, ...groups.flatMap(allPages).map((page) => page.path)]) {
    if (externalUrl(path) === undefined) cpSync(join(docs, path), join(site, path));
  }
}
