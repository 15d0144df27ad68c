import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage, type Visit } from './browser.ts';
import { type Site, type SiteOptions, startSite } from './site.ts';

/** The usual browser: a desktop with the light theme, in English. */
export const DESKTOP = { width: 'desktop', theme: 'light', language: 'en' } as const satisfies Partial<Visit>;
export const PHONE = { ...DESKTOP, width: 'phone' } as const satisfies Partial<Visit>;

export interface Scene extends Partial<SiteOptions> {
  readonly visit?: Partial<Visit>;
  /** The path of the shown folder. */
  readonly folder?: string;
}

/** Starts a site on disk with these files and opens a folder of it. Waits until the whole folder is shown. */
export async function openSite(t: TestContext, scene: Scene = {}): Promise<{ site: Site; page: Page }> {
  const { visit, folder = '', ...options } = scene;
  const site = await startSite(t, { store: 'disk', ...options });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: new URL(encodeURI(folder), site.url).href });
  await page.locator('html[data-listing="complete"]').waitFor();
  return { site, page };
}
