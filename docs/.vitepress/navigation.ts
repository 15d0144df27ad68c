import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { parseMarkdown, textOf } from '../../scripts/links/markdown.ts';
import { repository } from './project.ts';

/*
 * `docs/README.md` is the only list of the pages: GitHub shows it, and the sidebar and `llms.txt` are made from it. A
 * heading is a group, and a list item is a page with its description. A link to the README.md of a folder adds the pages
 * which that file links to, for example the decisions.
 */

/** A page of the docs. `path` is relative to `docs`. Pages outside of `docs` are shown in the repository. */
export interface Page {
  readonly title: string;
  readonly path: string;
  readonly description: string;
  readonly pages: readonly Page[];
}

/** A heading of `docs/README.md`, with the pages and the smaller headings below it. */
export interface Group {
  readonly title: string;
  readonly pages: readonly Page[];
  readonly groups: readonly Group[];
}

type Node = ReturnType<typeof parseMarkdown>['children'][number];

export const INDEX = 'README.md';

/** Reads the groups of `docs/README.md`. */
export function readNavigation(): Group[] {
  const groups: MutableGroup[] = [];
  for (const node of parse(INDEX)) {
    const isHeading = node.type === 'heading' && node.depth > 1;
    if (isHeading) {
      const siblings = node.depth === 2 ? groups : groups.at(-1)?.groups;
      siblings?.push({ title: textOf(node), pages: [], groups: [] });
    }
    const group = groups.at(-1)?.groups.at(-1) ?? groups.at(-1);
    if (node.type === 'list') group?.pages.push(...node.children.map(readPage));
  }
  return groups;
}

/** Returns the pages of a group in reading order, including those of its smaller groups. */
export function allPages({ pages, groups }: Group): Page[] {
  return [...pages.flatMap((page) => [page, ...page.pages]), ...groups.flatMap(allPages)];
}

/** Returns the address of a page outside of `docs`, or `undefined` for a page of the site. */
export function externalUrl(path: string): string | undefined {
  return path.startsWith('../') ? `${repository}/blob/main/${path.slice('../'.length)}` : undefined;
}

/** Returns the sidebar of the site. */
export function sidebar(): DefaultTheme.SidebarItem[] {
  return readNavigation().map((group) => groupItem(group));
}

/** Returns the path of a page on the site, without the base path: the README.md of a folder is its index. */
export function sitePath(page: string): string {
  return page.replace(/(^|\/)README\.md$/, '$1index.md');
}

interface MutableGroup extends Group {
  readonly pages: Page[];
  readonly groups: MutableGroup[];
}

function groupItem({ title, pages, groups }: Group, isCollapsed?: boolean): DefaultTheme.SidebarItem {
  const items = [...pages.map(pageItem), ...groups.map((group) => groupItem(group, true))];
  return { text: title, items, ...(isCollapsed === undefined ? {} : { collapsed: isCollapsed }) };
}

function pageItem({ title, path, pages }: Page): DefaultTheme.SidebarItem {
  const link = externalUrl(path) ?? `/${sitePath(path).replace(/(?:index)?\.md$/, '')}`;
  return { text: title, link, ...(pages.length === 0 ? {} : { items: pages.map(pageItem), collapsed: true }) };
}

/** Reads a list item: a link, and the description after the colon. */
function readPage(item: Node): Page {
  const text = textOf(item);
  const [link] = linksIn(item);
  if (link === undefined) throw new Error(`docs/${INDEX}: "${text}" has no link.`);
  const path = posix.normalize(link.url);
  const isFolder = path !== INDEX && posix.basename(path) === INDEX;
  return {
    title: textOf(link),
    path,
    description: text.slice(textOf(link).length).replace(/^:\s*/, ''),
    pages: isFolder ? readFolder(path) : [],
  };
}

/** Returns the pages of its own folder that a README.md links to. */
function readFolder(index: string): Page[] {
  const links = parse(index).flatMap(linksIn);
  const isSibling = ({ url }: { url: string }) => /^[^/#:]+\.md$/.test(url);
  return links.filter(isSibling).map((link) => {
    return { title: textOf(link), path: posix.join(posix.dirname(index), link.url), description: '', pages: [] };
  });
}

function linksIn(node: Node): Extract<Node, { type: 'link' }>[] {
  if (node.type === 'link') return [node];
  return 'children' in node ? node.children.flatMap((child) => linksIn(child)) : [];
}

function parse(page: string): Node[] {
  return parseMarkdown(readFileSync(new URL(`../${page}`, import.meta.url), 'utf8')).children;
}
