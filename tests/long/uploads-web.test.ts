/*
 * As uploads.test.ts, with tus-js-client and Uppy in a browser: the only test of uploads from pages of another origin that continue after
 * broken connections.
 */

import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { launchBrowser } from '../../testing/servers/chromium.ts';
import { MIB } from '../faults/pattern.ts';
import { openUploadsToBranch, openUploadsToBucket, openUploadsToDisk } from '../replicas/upload-stages.ts';
import { type UploadClient, uploadUnderFaults } from '../replicas/uploads.ts';
import type { Need } from '../runner/needs.ts';
import type { ClientPage } from '../web/upload-client-page.ts';
import { serveClientPage } from '../web/upload-client-site.ts';

export const needs: readonly Need[] = ['browser', 'bucket', 'git', 'nginx', 'postgres'];

const LARGE = { large: 1024 * MIB, small: { count: 20, maxBytes: 20 * MIB }, chunkSize: 64 * MIB };
const BRANCH = { large: 90 * MIB, small: { count: 5, maxBytes: 5 * MIB }, chunkSize: 8 * MIB };

for (const [name, open, trial] of [
  ['disk', openUploadsToDisk, LARGE],
  ['bucket', openUploadsToBucket, LARGE],
  ['branch', openUploadsToBranch, BRANCH],
] as const) {
  it(`tus-js-client and Uppy upload from a browser to a ${name} while connections break and replicas are killed`, async (t) => {
    const origin = await serveClientPage(t);
    const browser = await launchBrowser();
    atEnd(t, () => browser.close());
    const clients = (['tus-js-client', 'Uppy'] as const).map(
      (client): UploadClient =>
        async ({ file, ...options }) => {
          const page = await browser.newPage();
          page.setDefaultTimeout(0);
          await page.goto(origin);
          await page.setInputFiles('input', file);
          const upload = { client, endpoint: `${options.service}/-/uploads`, ...options };
          await page.evaluate(async ({ path, ...given }) => {
            const { page: own } = window as unknown as { page: ClientPage };
            const [chosen] = document.querySelector('input')?.files ?? [];
            if (!chosen) throw new Error('No file is chosen.');
            await own.upload({ ...given, file: chosen, metadata: { path } });
          }, upload);
          await page.close();
          return {};
        },
    );
    const stage = await open(t, { CORS_ORIGINS: origin });
    t.diagnostic(JSON.stringify(await uploadUnderFaults(t, stage, { ...trial, clients })));
  });
}
