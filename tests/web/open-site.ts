import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage, type Visit } from './browser.ts';
import { type Site, type SiteOptions, startSite } from './site.ts';

/** The usual browser: a desktop with the light theme, in English. */
export const DESKTOP = { width: 'desktop', theme: 'light', language: 'en' } as const satisfies Partial<Visit>;
export const PHONE = { ...DESKTOP, width: 'phone' } as const satisfies Partial<Visit>;

/** The settings of tests of the trash, of large uploads and of accounts. With the same settings, tests share a service. */
export const PARTS_AND_TRASH = { TRASH_DAYS: '30', UPLOAD_CHUNK_SIZE: '128KiB', MAX_UPLOAD_SIZE: '2MB' } as const;

/** Files in the root folder, and one in a deep folder. */
export const FILES = {
  'one.txt': '1',
  'two.txt': '2',
  'three.txt': '3',
  'Docs/': '',
  'Photos/2026/Summer holidays/Iceland/Westfjords/bird.txt': 'cheep',
};
export const DEEP_FOLDER = 'Photos/2026/Summer holidays/Iceland/Westfjords/';

export interface Scene extends Partial<SiteOptions> {
  readonly visit?: Partial<Visit>;
  /** The path that the browser opens, relative to the site. Default: the root folder. */
  readonly path?: string;
}

/** Starts a site on disk with these files and opens a path of it. */
export async function visitSite(t: TestContext, scene: Scene = {}): Promise<{ site: Site; page: Page }> {
  const { visit, path = '', ...options } = scene;
  const site = await startSite(t, { store: 'disk', ...options });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: new URL(encodeURI(path), site.url).href });
  return { site, page };
}

/** Does the same for a folder, and waits until the folder is completely loaded. */
export async function openSite(
  t: TestContext,
  { folder = '', ...scene }: Omit<Scene, 'path'> & { readonly folder?: string } = {},
): Promise<{ site: Site; page: Page }> {
  const opened = await visitSite(t, { ...scene, path: folder });
  await opened.page.locator('html[data-listing="complete"]').waitFor();
  return opened;
}
