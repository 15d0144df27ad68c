import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import { row } from './elements.ts';
import { DESKTOP } from './open-site.ts';
import { METRICS_TOKEN, startSite } from './site.ts';
import { openFileChooser } from './uploading.ts';

export const needs: readonly Need[] = ['browser', 'bucket'];

const MIB = 2 ** 20;
const PART = 8 * MIB;

test('Large files are sent to the bucket directly if it allows that, and otherwise to the service', async (t) => {
  const site = await startSite(t, { store: 's3', cors: false, settings: { UPLOAD_CHUNK_SIZE: '1MiB' } });
  const [store = ''] = site.bucketOrigins;
  const folder = await temporaryFolder(t);
  const page = await openPage(t, {
    ...DESKTOP,
    url: site.url,
    allowedOrigins: [store],
    // The requests that the bucket does not allow, those that the reload aborts, and the responses of this test.
    expectedErrors: [/CORS policy|partNumber=/],
  });
  page.on('dialog', (dialog) => void dialog.accept());
  const sent: (string | null)[] = [];
  page.on('request', (request) => {
    const { origin, searchParams } = new URL(request.url());
    if (origin === store && request.method() === 'PUT') {
      sent.push(searchParams.get('partNumber'));
    }
  });
  /** Returns the parts that the page has sent to the bucket since the last call. */
  const sentParts = () => sent.splice(0);
  /** Returns the bytes of all requests that the service has received. */
  const received = async () => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const metrics = await (await fetch(`${site.url}-/metrics`, { headers })).text();
    const counts = [...metrics.matchAll(/^holdall_http_received_bytes_total\{.*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const choose = async (name: string) => {
    const upload = page.getByRole('button', { name: 'Upload', exact: true });
    await (await openFileChooser(page, () => upload.click())).setFiles(join(folder, name));
  };
  const create = async (name: string, size: number) => {
    const bytes = randomBytes(size);
    await writeFile(join(folder, name), bytes);
    return bytes;
  };
  const assertStored = async (name: string, bytes: Buffer) => {
    await row(page, name).waitFor();
    assertSameBytes(await site.read(name), bytes);
  };

  const refused = await create('refused ü.bin', 2 * MIB + 5);
  await choose('refused ü.bin');
  await assertStored('refused ü.bin', refused);
  assert.deepEqual(sentParts(), ['1']);
  assert.ok((await received()) > refused.length);
  const later = await create('later.bin', MIB + 5);
  await choose('later.bin');
  await assertStored('later.bin', later);
  assert.deepEqual(sentParts(), [], 'the page does not try the bucket again');

  await site.allowCors();
  await page.reload();
  await page.locator('html[data-listing="complete"]').waitFor();
  const before = await received();
  const direct = await create('direct ü.bin', PART + 5);
  await choose('direct ü.bin');
  await assertStored('direct ü.bin', direct);
  const parts = sentParts();
  assert.equal(parts.length, 2);
  assert.deepEqual(new Set(parts), new Set(['1', '2']));
  const carried = (await received()) - before;
  assert.ok(carried > 1000 && carried < 32_768, `${carried} bytes came to the service`);

  // The second part never arrives: before the upload is cancelled, and before the page is reloaded.
  let expired = 1;
  let confirmed = 0;
  await page.route(
    (url) => url.origin === store && url.searchParams.has('partNumber'),
    async (route) => {
      const part = new URL(route.request().url()).searchParams.get('partNumber');
      if (part === '2') return;
      if (part === '1' && expired++ === 0) {
        return route.fulfill({ status: 403, headers: { 'access-control-allow-origin': '*' } });
      }
      await route.fulfill({ response: await route.fetch() });
      confirmed++;
    },
  );
  await create('cancelled.bin', PART + 5);
  await choose('cancelled.bin');
  await until('one part is stored', () => confirmed === 1);
  await page.getByRole('button', { name: /Cancel .*cancelled\.bin/ }).click();
  await until('the upload has ended', () =>
    site.log().some(({ method, route, status }) => method === 'DELETE' && route === '/-/uploads/:id' && status === 204),
  );
  assert.deepEqual(await site.paths(), ['direct ü.bin', 'later.bin', 'refused ü.bin']);
  sentParts();

  // The URL of the first part has expired.
  [expired, confirmed] = [0, 0];
  const presigned = () => site.log().filter(({ route }) => route === '/-/uploads/:id/parts').length;
  const presignedBefore = presigned();
  const continued = await create('continued.bin', PART + 5);
  await choose('continued.bin');
  await until('the first part is stored', () => confirmed === 1);
  assert.equal(sent.filter((part) => part === '1').length, 2);
  assert.equal(presigned() - presignedBefore, 3, 'for the size of parts, for both parts, and for the first part again');
  sentParts();
  await page.reload();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.locator('html[data-listing="complete"]').waitFor();
  assert.equal(await row(page, 'continued.bin').count(), 0, 'nothing is visible before the end');
  await choose('continued.bin');
  await assertStored('continued.bin', continued);
  assert.deepEqual(sentParts(), ['2']);
  assert.deepEqual(await site.paths(), ['continued.bin', 'direct ü.bin', 'later.bin', 'refused ü.bin']);
});
