import type { Embedded, Listing } from '../schemas.ts';
import { assetUrl, fileUrl, folderUrl } from './links.ts';
import type { WebPage } from './web-page.ts';

/**
 * The document that the web page comes in, with the first answer embedded, so that it shows without asking again.
 * Without scripts, it is a plain list of links.
 */
export function renderDocument(page: WebPage, embedded: Embedded): string {
  const { base, folder } = embedded;
  const asset = (name: string) => escapeText(assetUrl(base, name));
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeText(titleOf(folder))}</title>`,
    page.icon === undefined ? '' : `<link rel="icon" type="image/svg+xml" href="${asset(page.icon)}">`,
    page.early === undefined ? '' : `<script src="${asset(page.early)}"></script>`,
    ...page.styles.map((style) => `<link rel="stylesheet" href="${asset(style)}">`),
    ...page.imports.map((module) => `<link rel="modulepreload" href="${asset(module)}">`),
    `<script type="module" src="${asset(page.script)}"></script>`,
    '</head><body><div id="page"></div>',
    `<noscript>${renderPlain(embedded)}</noscript>`,
    `<script type="application/json" id="embedded">${escapeJson(embedded)}</script>`,
    '</body></html>',
  ].join('');
}

function titleOf(folder: string): string {
  const name = folder.split('/').at(-2);
  return name === undefined ? 'Holdall' : `${name} – Holdall`;
}

/** What a person without scripts gets. */
function renderPlain({ base, answer }: Embedded): string {
  const needed = '<p>This page needs JavaScript for everything but looking.</p>';
  if (!answer.success) return `${needed}<p>${escapeText(answer.error)}</p>`;
  const items = answer.entries.map((entry) => `<li>${renderLink(base, entry)}</li>`);
  return `${needed}<ul>${items.join('')}</ul>${renderNext(base, answer)}`;
}

/** Names are kept from turning the direction of what stands beside them (`bdi`). */
function renderLink(base: string, { type, name, path }: Listing['entries'][number]): string {
  return type === 'folder'
    ? `<a href="${escapeText(folderUrl(base, path))}"><bdi>${escapeText(name)}</bdi>/</a>`
    : `<a href="${escapeText(fileUrl(base, path))}"><bdi>${escapeText(name)}</bdi></a>`;
}

function renderNext(base: string, { prefix, cursor }: Listing): string {
  if (cursor === undefined) return '';
  const folder = folderUrl(base, prefix);
  const next = `${folder}${folder.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
  return `<p><a href="${escapeText(next)}">More</a></p>`;
}

/** Text as it stands in an element or in a quoted attribute. */
function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** JSON in which no name can end the element that it stands in, or begin a comment there. */
function escapeJson(embedded: Embedded): string {
  return JSON.stringify(embedded).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
