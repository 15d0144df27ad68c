import type { TestContext } from 'node:test';
import type { Visit } from './browser.ts';
import { openSite } from './open-site.ts';

export const DEEP = 'Photos/2026/Summer holidays/Iceland/Westfjords/';
export const FILES = { 'one.txt': '1', 'two.txt': '2', 'three.txt': '3', 'Docs/': '', [`${DEEP}bird.txt`]: 'cheep' };

/** Opens a folder of a site with a few files. */
export const openFiles = (t: TestContext, visit: Partial<Visit> = {}, folder = '') =>
  openSite(t, { files: FILES, visit, folder });
