import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openFakeBucket } from '../../testing/servers/fake-bucket.ts';
import { errorResponse, type OwnResponse } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, pathsIn, upload } from '../contract/bytes.ts';

const xmlResponse = (body: string): OwnResponse => ({ status: 200, body });

/** Valid spellings of a listing with one file, `a & b`, of 7 bytes. */
const LISTINGS: Record<string, string> = {
  'with a BOM, an XML declaration, a namespace, comments and whitespace': `\uFEFF<?xml version="1.0" encoding="UTF-8" standalone='yes' ?>
    <!-- a comment with a > in it -->
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/" about='a > b'>
      <Name>bucket</Name><Prefix/><IsTruncated> false </IsTruncated>
      <Contents>
        <Key>a &amp; b</Key><Size> 7 </Size><ETag>&quot;e&quot;</ETag>
      </Contents>
    </ListBucketResult>\n`,
  'with unknown elements and another element order':
    '<ListBucketResult><Contents><Owner><ID>x</ID><Key>no key</Key></Owner><Size>7</Size><Tags><Tag><Key>none</Key></Tag></Tags>' +
    '<ETag>e</ETag><Key>a &#38; b</Key></Contents><New at="1"/><IsTruncated>false</IsTruncated><Name>b</Name></ListBucketResult>',
  'with CDATA sections, comments and character references in a key':
    '<ListBucketResult><Name/><Contents><Key><![CDATA[a & ]]>b<!-- </Key> --></Key><Size>7</Size><ETag>&#x22;e&#34;</ETag></Contents></ListBucketResult >',
};

describe('A ListObjectsV2 response', () => {
  for (const [name, body] of Object.entries(LISTINGS)) {
    it(`is parsed ${name}`, async (t) => {
      const { store, proxy } = await openFakeBucket(t);
      proxy.intercept(() => xmlResponse(body));
      const { entries, cursor } = await store.list(folder(''));
      assert.equal(cursor, undefined);
      assert.deepEqual(
        entries.map((entry) => entry.kind === 'file' && [entry.path, entry.size, entry.etag, entry.modified]),
        [['a & b', 7, 'e', null]],
      );
    });
  }
});

const LISTED = '<IsTruncated>false</IsTruncated>';

/** Malformed or invalid listings. */
const HOSTILE: Record<string, string> = {
  'a DOCTYPE with nested entities': `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ListBucketResult>${LISTED}<Prefix>&b;</Prefix></ListBucketResult>`,
  'an undefined entity': `<ListBucketResult>${LISTED}<Prefix>&file;</Prefix></ListBucketResult>`,
  'an invalid character reference': `<ListBucketResult>${LISTED}<Prefix>&#x110000;</Prefix></ListBucketResult>`,
  'an unescaped ampersand': `<ListBucketResult>${LISTED}<Prefix>a & b</Prefix></ListBucketResult>`,
  'a truncated document': `<ListBucketResult>${LISTED}<Contents><Key>a</Key>`,
  'a document truncated inside a tag': `<ListBucketResult>${LISTED}<Contents><Key`,
  'incorrectly nested elements': `<ListBucketResult>${LISTED}<Contents><Key>a</Contents></Key></ListBucketResult>`,
  'two root elements': `<ListBucketResult>${LISTED}</ListBucketResult><ListBucketResult/>`,
  'text after the root element': `<ListBucketResult>${LISTED}</ListBucketResult>text`,
  'an unterminated attribute': `<ListBucketResult a="${LISTED}</ListBucketResult>`,
  '100,000 nested elements': `<ListBucketResult>${LISTED}${'<a>'.repeat(100_000)}`,
  'a negative size': `<ListBucketResult>${LISTED}<Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>`,
  'an empty body': '',
  'a JSON body': '{"Name": "bucket"}',
};

it('A malformed listing fails as unavailable and is never read as an empty folder', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  for (const [name, body] of Object.entries(HOSTILE)) {
    proxy.intercept(() => xmlResponse(body));
    await assert.rejects(store.list(folder('')), ofKind('unavailable'), name);
  }
});

it('An Error document in a 200 response to ListObjectsV2 is retried, then reported', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  proxy.intercept(() => xmlResponse('<Error><Code>InternalError</Code><Message>m</Message></Error>'));
  await assert.rejects(store.list(folder('')), /busy or failing/);
  assert.equal(proxy.count('ListObjectsV2'), 4);
});

it('After RequestTimeTooSkewed, requests and presigned URLs use the time of the store', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  const headers = { date: new Date(Date.now() + 5 * HOUR).toUTCString() };
  proxy.intercept(() =>
    proxy.requests.length === 1
      ? errorResponse(403, 'RequestTimeTooSkewed', headers)
      : { ...xmlResponse(`<ListBucketResult>${LISTED}</ListBucketResult>`), headers },
  );
  assert.deepEqual(await pathsIn(store, ''), []);
  const times = proxy.requests.map((request) => String(request.headers['x-amz-date']));
  const entry = { kind: 'file', path: file('a.bin'), size: 10, etag: 'e', modified: null, type: 'text/plain' } as const;
  const url = new URL((await store.presign?.(entry, { expires: 60, download: true, purpose: 'read' })) ?? '');
  times.push(url.searchParams.get('X-Amz-Date') ?? '');
  assert.deepEqual(
    times.map((time) => hoursAhead(time, Date.now())),
    [0, 5, 5],
  );
});

it('A presigned URL uses the time of the store after the local clock has jumped', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  const storeTime = Date.now();
  proxy.intercept(() => errorResponse(403, 'AccessDenied', { date: new Date(storeTime).toUTCString() }));
  await assert.rejects(store.list(folder('')), ofKind('denied'));
  t.mock.timers.enable({ apis: ['Date'], now: storeTime + 5 * HOUR });
  const entry = { kind: 'file', path: file('a.bin'), size: 10, etag: 'e', modified: null, type: 'text/plain' } as const;
  const signed = async () =>
    new URL((await store.presign?.(entry, { expires: 60, download: true, purpose: 'read' })) ?? '').searchParams;
  for (let times = 2; times > 0; times--)
    assert.equal(hoursAhead((await signed()).get('X-Amz-Date') ?? '', storeTime), 0);
});

it('An upload is signed again after a clock jump, and after the clock is corrected', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  const storeTime = Date.now();
  const headers = { date: new Date(storeTime).toUTCString(), etag: '"e"' };
  proxy.intercept((request) =>
    hoursAhead(String(request.headers['x-amz-date']), storeTime) === 0
      ? { status: 200, headers }
      : errorResponse(403, 'RequestTimeTooSkewed', headers),
  );
  t.mock.timers.enable({ apis: ['Date'], now: storeTime + 5 * HOUR });
  await store.write(file('a'), upload('text'));
  t.mock.timers.setTime(storeTime);
  await store.write(file('a'), upload('text'));
  assert.equal(proxy.count('PutObject'), 4);
});

it('An upload refused for another reason is not repeated because the clock is wrong', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  let seconds = (5 * HOUR) / 1000;
  proxy.intercept(() => {
    const headers = { date: new Date(Date.now() + seconds++ * 1000).toUTCString(), etag: '"e"' };
    return proxy.requests.length === 1 ? { status: 200, headers } : errorResponse(404, 'NoSuchBucket', headers);
  });
  await store.write(file('a'), upload('text'));
  await assert.rejects(store.write(file('a'), upload('text')), ofKind('unavailable'));
  assert.equal(proxy.count('PutObject'), 2);
});

it('A clock jump is corrected even if the Date header equals the last one', async (t) => {
  const { store, proxy } = await openFakeBucket(t);
  const storeTime = Date.now();
  const headers = { date: new Date(storeTime).toUTCString() };
  proxy.intercept((request) =>
    hoursAhead(String(request.headers['x-amz-date']), storeTime) === 0
      ? { ...xmlResponse(`<ListBucketResult>${LISTED}</ListBucketResult>`), headers }
      : errorResponse(403, 'RequestTimeTooSkewed', headers),
  );
  assert.deepEqual(await pathsIn(store, ''), []);
  t.mock.timers.enable({ apis: ['Date'], now: storeTime + 5 * HOUR });
  assert.deepEqual(await pathsIn(store, ''), []);
  t.mock.timers.setTime(storeTime);
  assert.deepEqual(await pathsIn(store, ''), []);
});

const HOUR = 3_600_000;

/** Returns how many hours a time such as 20260131T235959Z is ahead of `reference`. */
function hoursAhead(time: string, reference: number): number {
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Math.round((Date.parse(iso) - reference) / HOUR) + 0;
}
