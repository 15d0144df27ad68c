import { encodePath } from '../../model/path.ts';
import { CACHE_CONTROL, PERMISSIONS_POLICY, relativeTo } from '../headers.ts';
import type { Embedded, Listing } from '../schemas.ts';
import { MANIFEST_PATH, THEME_COLORS } from './app-manifest.ts';
import type { WebPage } from './web-page.ts';

/**
 * Returns the HTML document of the web UI. It embeds the JSON response, so that the web UI needs no further request.
 * Without scripts, the document is a list of links.
 */
export function renderDocument(page: WebPage, embedded: Embedded, { isInstallable }: PageOptions): string {
  const { base, folder } = embedded;
  const asset = (name: string) => escapeHtml(assetUrl(base, name));
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark">',
    ...Object.entries(THEME_COLORS).map(
      ([theme, color]) => `<meta name="theme-color" media="(prefers-color-scheme: ${theme})" content="${color}">`,
    ),
    `<title>${escapeHtml(titleOf(folder))}</title>`,
    page.icon === undefined ? '' : `<link rel="icon" type="image/svg+xml" href="${asset(page.icon)}">`,
    ...(isInstallable ? renderAppLinks(page, base) : []),
    page.early === undefined ? '' : `<script src="${asset(page.early)}"></script>`,
    ...page.styles.map((style) => `<link rel="stylesheet" href="${asset(style)}">`),
    ...page.imports.map((module) => `<link rel="modulepreload" href="${asset(module)}">`),
    page.language === undefined ? '' : `<script type="module" async src="${asset(page.language)}"></script>`,
    `<script type="module" src="${asset(page.script)}"></script>`,
    '</head><body><div id="page"></div>',
    `<noscript>${renderNoscript(embedded)}</noscript>`,
    `<script type="application/json" id="embedded">${escapeJson(embedded)}</script>`,
    '</body></html>',
  ].join('');
}

/**
 * Returns the links for installing the web UI. The manifest is public, but browsers request it with cookies, because a proxy
 * in front of the service can require them.
 */
function renderAppLinks({ appIcons }: WebPage, base: string): readonly string[] {
  return [
    `<link rel="manifest" href="${escapeHtml(base + MANIFEST_PATH)}" crossorigin="use-credentials">`,
    `<link rel="apple-touch-icon" href="${escapeHtml(assetUrl(base, appIcons['apple-touch-180']))}">`,
  ];
}

/** What the document has for users, but not for the visitors of share links. */
export interface PageOptions {
  /** Whether browsers can install the web UI. */
  readonly isInstallable: boolean;
}

function titleOf(folder: string): string {
  const name = folder.split('/').at(-2);
  return name === undefined ? 'Holdall' : `${name} – Holdall`;
}

/** Returns the content for browsers without JavaScript. */
function renderNoscript({ base, response }: Embedded): string {
  const notice = '<p>Without JavaScript, you can only browse and download.</p>';
  if (!response.success) return `${notice}<p>${escapeHtml(response.error)}</p>`;
  const items = response.entries.map((entry) => `<li>${renderEntryLink(base, entry)}</li>`);
  return `${notice}<ul>${items.join('')}</ul>${renderNextPageLink(base, response)}`;
}

/** Returns the link of an entry. `bdi` keeps a name from changing the text direction around it. */
function renderEntryLink(base: string, { type, name, path }: Listing['entries'][number]): string {
  return type === 'folder'
    ? `<a href="${escapeHtml(folderUrl(base, path))}"><bdi>${escapeHtml(name)}</bdi>/</a>`
    : `<a href="${escapeHtml(fileUrl(base, path))}"><bdi>${escapeHtml(name)}</bdi></a>`;
}

function renderNextPageLink(base: string, { prefix, cursor }: Listing): string {
  if (cursor === undefined) return '';
  const folder = folderUrl(base, prefix);
  const next = `${folder}${folder.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
  return `<p><a href="${escapeHtml(next)}">More</a></p>`;
}

/** Escapes text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Returns JSON for a script element. Escapes `<`, so that no name can close the element or begin a comment. */
function escapeJson(embedded: Embedded): string {
  return JSON.stringify(embedded).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the headers of the web UI's document, for every status. */
export function pageHeaders(contentOrigins: readonly string[], options: PageOptions): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    // Browsers revalidate each time, and still restore the page on back navigation, which `no-store` would prevent.
    'cache-control': CACHE_CONTROL,
    vary: 'Accept, Accept-Encoding',
    'content-security-policy': contentSecurityPolicy(contentOrigins, options),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': PERMISSIONS_POLICY,
    'referrer-policy': 'same-origin',
  };
}

/**
 * Allows the page to load its own scripts and styles, and file contents, which a redirect might lead to the store's
 * hosts. No string can become a script (`require-trusted-types-for`), except two URLs: that of the worker of previews, which
 * `web/src/features/viewer/worker/run-job.ts` creates, and that of the service worker (`web/src/app/service-worker.ts`).
 */
function contentSecurityPolicy(contentOrigins: readonly string[], { isInstallable }: PageOptions): string {
  const contents = ["'self'", ...contentOrigins.filter(isCspSource)].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${contents} blob:`,
    `media-src ${contents} blob:`,
    `connect-src ${contents}`,
    `frame-src ${contents}`,
    "font-src 'self'",
    "worker-src 'self'",
    `manifest-src ${isInstallable ? "'self'" : "'none'"}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types preview-worker${isInstallable ? ' service-worker' : ''}`,
  ].join('; ');
}

/**
 * Returns whether a policy can name this origin (CSP Level 3, section 2.3.1). It can't name IPv6 addresses. URL hosts
 * can contain a `;` or a `,`, which would begin another directive or policy.
 */
export function isCspSource(origin: string): boolean {
  return /^https?:\/\/[\w.-]+(:\d+)?$/.test(origin);
}

/* URLs of the web UI. All are relative, so that they also work behind a reverse proxy with a path prefix. */

/** First path segments of routes. Folders of these names are only available with `?prefix=`. */
const ROUTE_SEGMENTS = ['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder'];

/** Returns the root of the service relative to the URL of the request, with a trailing `/`. */
export function baseOf(requestUrl: string): string {
  return relativeTo(requestUrl, '/') || './';
}

/** Returns whether a GET request for this URL lists a folder, even if that folder does not exist. */
export function isListingUrl(requestUrl: string): boolean {
  return !ROUTE_SEGMENTS.some((segment) => requestUrl.startsWith(`/${segment}/`));
}

export function folderUrl(base: string, folder: string): string {
  const [first = ''] = folder.split('/');
  return ROUTE_SEGMENTS.includes(first) ? `${base}?prefix=${encodeURIComponent(folder)}` : base + encodePath(folder);
}

export function fileUrl(base: string, file: string): string {
  return `${base}file/${encodePath(file)}`;
}

export function assetUrl(base: string, name: string): string {
  return `${base}-/assets/${encodePath(name)}`;
}
