import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { errorResponse, type OwnResponse, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import { messages, row, waitForMessage } from './elements.ts';
import { DESKTOP } from './open-site.ts';
import { startSite } from './site.ts';

export const needs: readonly Need[] = ['browser', 'bucket'];

const tray = (page: Page) => page.getByRole('region', { name: 'Uploads and changes' });
const operation = (page: Page, title: string) => tray(page).locator('.operation').filter({ hasText: title });

const PHOTOS = 'Copying “⁨photos⁩” to “⁨backup⁩”';
const NOTES = 'Copying “⁨notes⁩” to “⁨backup⁩”';

test(
  'Long copies of folders survive a reload, appear in other tabs, and can be cancelled there',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const proxy = await startS3Proxy(testObjectStore());
    atEnd(t, () => proxy.stop());
    const site = await startSite(t, {
      store: 's3',
      files: { 'photos/a.txt': 'a', 'photos/b.txt': 'b', 'notes/c.txt': 'c', 'backup/': '' },
      settings: { S3_ENDPOINT: proxy.url },
    });
    const finishing = Promise.withResolvers<undefined>();
    const failing = Promise.withResolvers<OwnResponse>();
    proxy.intercept(({ method, key = '' }) => {
      if (method !== 'PUT') return undefined;
      if (key.startsWith('backup/notes/')) return failing.promise;
      return key === 'backup/photos/b.txt' ? finishing.promise : undefined;
    });
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    page.on('dialog', () => assert.fail('No question is asked before the page is left.'));

    await row(page, 'photos/').click();
    await row(page, 'notes/').click({ modifiers: ['Control'] });
    await page.keyboard.press('Control+c');
    await row(page, 'backup/').dblclick();
    await page.locator('html[data-listing="complete"]').waitFor();
    await page.keyboard.press('Control+v');
    await operation(page, 'Copying 2 items').getByText('1 of 3 items').waitFor();

    await page.reload();
    await operation(page, PHOTOS).getByText('1 of 2 items').waitFor();
    await operation(page, NOTES).getByText('0 of 1 item').waitFor();

    const other = await page.context().newPage();
    await other.goto(site.url);
    await operation(other, NOTES).getByRole('button', { name: 'Cancel' }).click();
    await operation(other, NOTES).getByText('Cancelling…').waitFor();
    // A file in progress is completed. The job would retry this one later, but its cancellation ends it.
    failing.resolve(errorResponse(503, 'SlowDown'));
    for (const each of [other, page]) await waitForMessage(each, 'Copy cancelled. 0 of 1 item copied.');

    // The tab reports the end of its job, although the page was closed at that moment.
    await page.goto('about:blank');
    finishing.resolve(undefined);
    await waitForMessage(other, '“⁨photos⁩” copied to “⁨backup⁩”');
    await page.goto(`${site.url}backup/`);
    await waitForMessage(page, '“⁨photos⁩” copied to “⁨backup⁩”');
    await tray(page).waitFor({ state: 'detached' });
    await row(page, 'backup/photos/').waitFor();
    assert.equal(await messages(page).getByText('Couldn’t').count(), 0);
    await until('the cancelled copy is removed', async () => !(await site.exists('backup/notes/')));
    assert.deepEqual(await site.paths(), [
      'backup/photos/a.txt',
      'backup/photos/b.txt',
      'notes/c.txt',
      'photos/a.txt',
      'photos/b.txt',
    ]);
  },
);
