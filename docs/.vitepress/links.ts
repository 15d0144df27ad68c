import { existsSync, statSync } from 'node:fs';
import { posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MarkdownRenderer } from 'vitepress';
import { sitePath } from './navigation.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Makes the relative links of pages, which are written for GitHub, work on the site. */
export function linkPlugin(markdown: MarkdownRenderer, repository: string): void {
  markdown.core.ruler.after('inline', 'github_links', ({ tokens, env }) => {
    const page = relative(ROOT, env.realPath ?? env.path);
    for (const link of tokens.flatMap(({ children }) => children ?? [])) {
      const href = link.type === 'link_open' && link.attrGet('href');
      if (href) link.attrSet('href', siteUrl(page, href, repository));
    }
  });
}

/**
 * Returns the URL on the site for the URL of a link: another page of the site, or anything else of the repository there.
 *
 * @param page the path of the page in the repository
 */
export function siteUrl(page: string, url: string, repository: string): string {
  if (/^([a-z][a-z\d+.-]*:|#|\/)/i.test(url)) return url;
  const [location = '', anchor] = url.split('#', 2);
  const target = posix.join(posix.dirname(page), decodeURIComponent(location));
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (/^docs\/.*\.md$/.test(target)) return `${sitePath(location)}${hash}`;
  const path = posix.join(ROOT, target);
  const kind = existsSync(path) && statSync(path).isDirectory() ? 'tree' : 'blob';
  return `${repository}/${kind}/main/${encodeURI(target)}${hash}`;
}
