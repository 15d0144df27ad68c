import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import { memory } from '../contract/backend.ts';
import { escapePath, postForm } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { openPage, type Visit } from './browser.ts';
import type { HostileFile } from './hostile-files.ts';
import { DESKTOP } from './open-site.ts';

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
