import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { PHONE } from './open-site.ts';
import type { testFile } from './uploading.ts';

/** A phone, whose browser installs the page. */
export const WITH_WORKER = { ...PHONE, hasServiceWorker: true } as const;

/** Waits until the page has a service worker that can respond to navigations. */
export async function waitForWorker(page: Page): Promise<void> {
  await until('the service worker is active', () =>
    page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated'),
  );
}

interface ShareOptions {
  readonly root: string;
  /** The URL of the page that sends the form. */
  readonly from?: string;
  readonly files?: readonly ReturnType<typeof testFile>[];
  readonly fields?: Readonly<Record<string, string>>;
}

/** Shares as another app does: the browser sends a form by a navigation. */
export async function share(
  page: Page,
  { root, from = 'about:blank', files = [], fields = {} }: ShareOptions,
): Promise<void> {
  await page.goto(from);
  await page.setContent(
    `<form method="post" enctype="multipart/form-data" action="${root}-/share"><input type="file" name="files" multiple></form>`,
  );
  await page.setInputFiles('input[type=file]', [...files]);
  await page.evaluate((texts) => {
    const form = document.querySelector('form');
    for (const [name, value] of Object.entries(texts)) {
      form?.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
    }
    form?.submit();
  }, fields);
}
