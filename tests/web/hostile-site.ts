import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import { memory } from '../contract/backend.ts';
import { escapePath, postForm } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { openPage, type Visit } from './browser.ts';
import { DESKTOP } from './open-site.ts';
import { pdf } from './samples.ts';

export interface HostileSite {
  /** At a document of the service that allows everything, with a cookie of the service that scripts can read. */
  readonly page: Page;
  readonly url: string;
  urlOf(file: Pick<HostileFile, 'name'>): string;
  /** Returns the URLs that scripts of the files requested so far. */
  acts(): readonly string[];
}

/** Starts a service with files that report it when they act, and opens a page of the same origin. */
export async function startHostileSite(
  t: TestContext,
  files: readonly HostileFile[],
  visit: Partial<Visit> = {},
): Promise<HostileSite> {
  const service = await startService(memory);
  atEnd(t, () => service.stop());
  const url = `http://127.0.0.1:${service.port}/`;
  for (const file of files) await plant(service.port, file);
  // The routes apply from the first document on.
  const page = await openPage(t, { ...DESKTOP, ...visit, url: 'about:blank', allowedOrigins: [new URL(url).origin] });
  await page.context().addCookies([{ name: 'canary', value: 'sings', url }]);
  const acts: string[] = [];
  await page.context().route(`${url}favicon.ico`, (route) => route.fulfill({ status: 204 }));
  await page.context().route(`${url}collected*`, (route) => {
    acts.push(route.request().url());
    return route.fulfill({ status: 204 });
  });
  await page.goto(`${url}-/health/live`);
  return { page, url, urlOf: ({ name }) => `${url}file/${escapePath(name)}`, acts: () => acts };
}

async function plant(port: number, { name, type, content }: HostileFile): Promise<void> {
  const response = await postForm(port, [{ name: 'file', filename: name, type, value: content }]);
  assert.equal(response.status, 200, name);
}

/** A file of an attacker that tries to act with the permissions of the user who opens it. */
export interface HostileFile {
  readonly name: string;
  /** The media type that the uploader sends. */
  readonly type: string;
  readonly content: string | Buffer;
  /** The content type of the document that the browser displays; undefined if the browser must download the file. */
  readonly shownAs?: string;
}

/** Reports that it runs, with the cookies that it can read, to the origin that it runs in or was loaded from. */
const SCRIPT = `
  var report = '/collected?' + encodeURIComponent(globalThis.document ? document.cookie : 'worker');
  globalThis.document && (document.title = 'ran');
  fetch(report).catch(() => {});
  globalThis.Image && (new Image().src = report);
  globalThis.postMessage && globalThis.postMessage('ran', '*');
`;

const ESCAPED = SCRIPT.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

export const PAGE = `<!doctype html><title>quiet</title><script>${SCRIPT}</script>
<img src="/collected?image" onerror="fetch('/collected?handler')"><meta http-equiv="refresh" content="0;url=/collected?refresh">`;

const XHTML = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>quiet</title><script>${ESCAPED}</script></head><body/></html>`;

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="fetch('/collected?onload')"><script>${ESCAPED}</script></svg>`;

const XSLT = `<?xml version="1.0"?><xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:template match="/"><html><head><script>${ESCAPED}</script></head></html></xsl:template></xsl:stylesheet>`;

const XML = '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="style.xsl"?><feed/>';

const MATHML = `<math xmlns="http://www.w3.org/1998/Math/MathML"><script xmlns="http://www.w3.org/1999/xhtml">${ESCAPED}</script></math>`;

const MHTML = `From: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${PAGE}`;

/** An image by its first bytes, and a valid script. */
const IMAGE_AND_SCRIPT = `GIF89a/*\x01\x00\x01\x00*/=1;${SCRIPT}`;

/** A document for PDF viewers, and a page for programs that detect HTML in the first bytes. */
const DOCUMENT_AND_PAGE = Buffer.concat([Buffer.from(`%PDF-1.4\n%${PAGE.replaceAll('\n', ' ')}\n`), pdf('Hostile')]);

/** Files with the media type of their extension, and files with a false media type. */
export const HOSTILE_FILES: readonly HostileFile[] = [
  { name: 'page.html', type: 'text/html', content: PAGE },
  { name: 'page.xhtml', type: 'application/xhtml+xml', content: XHTML },
  { name: 'drawing.svg', type: 'image/svg+xml', content: SVG },
  { name: 'style.xsl', type: 'text/xsl', content: XSLT },
  { name: 'feed.xml', type: 'text/xml', content: XML },
  { name: 'formula.mml', type: 'application/mathml+xml', content: MATHML },
  { name: 'letter.mhtml', type: 'multipart/related', content: MHTML },
  { name: 'code.js', type: 'text/javascript', content: SCRIPT },
  { name: 'style.css', type: 'text/css', content: '@import "/collected?style"' },
  { name: 'book.epub', type: 'application/epub+zip', content: PAGE },
  { name: 'film.swf', type: 'application/x-shockwave-flash', content: PAGE },
  { name: 'lie.html', type: 'image/png', content: PAGE },
  { name: 'lie.png', type: 'text/html', content: PAGE },
  { name: 'lie.txt', type: 'image/svg+xml', content: SVG },
  { name: 'lie.pdf', type: 'text/html; charset=utf-8', content: PAGE },
  { name: 'double.png.html', type: 'image/png', content: PAGE },
  { name: 'double.html.unknown', type: 'text/html', content: PAGE },
  { name: 'no extension', type: 'text/html', content: PAGE },
  { name: 'nothing said', type: 'application/octet-stream', content: PAGE },
  { name: 'text.txt', type: 'text/plain', content: PAGE, shownAs: 'text/plain' },
  { name: 'double.html.txt', type: 'text/plain; charset=utf-7; x="text/html"', content: PAGE, shownAs: 'text/plain' },
  { name: 'image.gif', type: 'image/gif', content: IMAGE_AND_SCRIPT, shownAs: 'image/gif' },
  { name: 'image.png', type: 'image/png', content: PAGE, shownAs: 'image/png' },
  { name: 'sound.wav', type: 'audio/wav', content: PAGE, shownAs: 'audio/wav' },
];

/** Files that Chromium shows in its PDF viewer. Its headless shell saves them. */
export const HOSTILE_PDFS: readonly HostileFile[] = [
  { name: 'document.pdf', type: 'application/pdf', content: DOCUMENT_AND_PAGE, shownAs: 'application/pdf' },
  { name: 'page.pdf', type: 'application/pdf', content: PAGE, shownAs: 'application/pdf' },
];
