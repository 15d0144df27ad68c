import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { file, folder, ofKind, pathsIn, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { openProxied } from '../servers/proxied-bucket.ts';
import { type OwnAnswer, refusal } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

const xml = (body: string): OwnAnswer => ({ status: 200, body });

/** Each way to write a listing of the file `a & b`, of 7 bytes. */
const LISTINGS: Record<string, string> = {
  'with a declaration, a namespace and white space': `\uFEFF<?xml version="1.0" encoding="UTF-8" standalone='yes' ?>
    <!-- of a store > that comments -->
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/" about='a > b'>
      <Name>bucket</Name><Prefix/><IsTruncated> false </IsTruncated>
      <Contents>
        <Key>a &amp; b</Key><Size> 7 </Size><ETag>&quot;e&quot;</ETag>
      </Contents>
    </ListBucketResult>\n`,
  'in another order, with what nobody knows':
    '<ListBucketResult><Contents><Owner><ID>x</ID><Key>no key</Key></Owner><Size>7</Size><Tags><Tag><Key>none</Key></Tag></Tags>' +
    '<ETag>e</ETag><Key>a &#38; b</Key></Contents><New at="1"/><IsTruncated>false</IsTruncated><Name>b</Name></ListBucketResult>',
  'in sections of characters, and pieces':
    '<ListBucketResult><Name/><Contents><Key><![CDATA[a & ]]>b<!-- </Key> --></Key><Size>7</Size><ETag>&#x22;e&#34;</ETag></Contents></ListBucketResult >',
};

describe('A listing is read', () => {
  for (const [name, body] of Object.entries(LISTINGS)) {
    it(name, async (t) => {
      const { store, proxy } = await openProxied(t);
      proxy.intercept(() => xml(body));
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

/** What looks like a listing and is none. */
const HOSTILE: Record<string, string> = {
  'a document type, whose entities grow': `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ListBucketResult>${LISTED}<Prefix>&b;</Prefix></ListBucketResult>`,
  'an entity that nobody knows': `<ListBucketResult>${LISTED}<Prefix>&file;</Prefix></ListBucketResult>`,
  'a character that is none': `<ListBucketResult>${LISTED}<Prefix>&#x110000;</Prefix></ListBucketResult>`,
  'a bare ampersand': `<ListBucketResult>${LISTED}<Prefix>a & b</Prefix></ListBucketResult>`,
  'an end too early': `<ListBucketResult>${LISTED}<Contents><Key>a</Key>`,
  'an end in a tag': `<ListBucketResult>${LISTED}<Contents><Key`,
  'elements that cross': `<ListBucketResult>${LISTED}<Contents><Key>a</Contents></Key></ListBucketResult>`,
  'two roots': `<ListBucketResult>${LISTED}</ListBucketResult><ListBucketResult/>`,
  'text behind the root': `<ListBucketResult>${LISTED}</ListBucketResult>text`,
  'an attribute without an end': `<ListBucketResult a="${LISTED}</ListBucketResult>`,
  'a depth without an end': `<ListBucketResult>${LISTED}${'<a>'.repeat(100_000)}`,
  'a size that is none': `<ListBucketResult>${LISTED}<Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>`,
  'nothing at all': '',
  JSON: '{"Name": "bucket"}',
};

it('What is no listing is never taken for one, and never for an empty bucket', async (t) => {
  const { store, proxy } = await openProxied(t);
  for (const [name, body] of Object.entries(HOSTILE)) {
    proxy.intercept(() => xml(body));
    await assert.rejects(store.list(folder('')), ofKind('unavailable'), name);
  }
});

it('An error in a listing that begins as a success is asked about again, and told', async (t) => {
  const { store, proxy } = await openProxied(t);
  proxy.intercept(() => xml('<Error><Code>InternalError</Code><Message>m</Message></Error>'));
  await assert.rejects(store.list(folder('')), /busy or failing/);
  assert.equal(proxy.count('ListObjectsV2'), 4);
});

it('A small file that breaks off is asked for again, and never given in part', async (t) => {
  const { store, proxy } = await openProxied(t);
  await store.write(file('a'), upload('the text'));
  let times = 1;
  proxy.intercept(({ operation }) => (operation === 'GetObject' && times-- > 0 ? { cutBehind: 3 } : undefined));
  assert.equal(await textOf(store, 'a'), 'the text');
  assert.equal(proxy.count('GetObject'), 2);
  times = 4;
  await assert.rejects(store.read(file('a')), ofKind('unavailable'));
});

it('A clock that is wrong by hours is set by that of the store, for requests and for URLs', async (t) => {
  const { store, proxy } = await openProxied(t);
  const headers = { date: new Date(Date.now() + 5 * HOUR).toUTCString() };
  proxy.intercept(() =>
    proxy.requests.length === 1
      ? refusal(403, 'RequestTimeTooSkewed', headers)
      : { ...xml(`<ListBucketResult>${LISTED}</ListBucketResult>`), headers },
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

it('A URL is of the time of the store also where the clock jumped since that told it', async (t) => {
  const { store, proxy } = await openProxied(t);
  const told = Date.now();
  proxy.intercept(() => refusal(403, 'AccessDenied', { date: new Date(told).toUTCString() }));
  await assert.rejects(store.list(folder('')), ofKind('denied'));
  t.mock.timers.enable({ apis: ['Date'], now: told + 5 * HOUR });
  const entry = { kind: 'file', path: file('a.bin'), size: 10, etag: 'e', modified: null, type: 'text/plain' } as const;
  const signed = async () =>
    new URL((await store.presign?.(entry, { expires: 60, download: true, purpose: 'read' })) ?? '').searchParams;
  for (let times = 2; times > 0; times--) assert.equal(hoursAhead((await signed()).get('X-Amz-Date') ?? '', told), 0);
});

it('An upload is signed anew where the clock went wrong, and where it was set right', async (t) => {
  const { store, proxy } = await openProxied(t);
  const told = Date.now();
  const headers = { date: new Date(told).toUTCString(), etag: '"e"' };
  proxy.intercept((request) =>
    hoursAhead(String(request.headers['x-amz-date']), told) === 0
      ? { status: 200, headers }
      : refusal(403, 'RequestTimeTooSkewed', headers),
  );
  t.mock.timers.enable({ apis: ['Date'], now: told + 5 * HOUR });
  await store.write(file('a'), upload('text'));
  t.mock.timers.setTime(told);
  await store.write(file('a'), upload('text'));
  assert.equal(proxy.count('PutObject'), 4);
});

it('An upload that is refused for another reason is not sent again because the clock is wrong', async (t) => {
  const { store, proxy } = await openProxied(t);
  let seconds = (5 * HOUR) / 1000;
  proxy.intercept(() => {
    const headers = { date: new Date(Date.now() + seconds++ * 1000).toUTCString(), etag: '"e"' };
    return proxy.requests.length === 1 ? { status: 200, headers } : refusal(404, 'NoSuchBucket', headers);
  });
  await store.write(file('a'), upload('text'));
  await assert.rejects(store.write(file('a'), upload('text')), ofKind('unavailable'));
  assert.equal(proxy.count('PutObject'), 2);
});

it('A clock that jumps by hours is set anew, also within the second of which the store told last', async (t) => {
  const { store, proxy } = await openProxied(t);
  const told = Date.now();
  const headers = { date: new Date(told).toUTCString() };
  proxy.intercept((request) =>
    hoursAhead(String(request.headers['x-amz-date']), told) === 0
      ? { ...xml(`<ListBucketResult>${LISTED}</ListBucketResult>`), headers }
      : refusal(403, 'RequestTimeTooSkewed', headers),
  );
  assert.deepEqual(await pathsIn(store, ''), []);
  t.mock.timers.enable({ apis: ['Date'], now: told + 5 * HOUR });
  assert.deepEqual(await pathsIn(store, ''), []);
  t.mock.timers.setTime(told);
  assert.deepEqual(await pathsIn(store, ''), []);
});

const HOUR = 3_600_000;

/** By how much a time such as 20260131T235959Z is ahead of another. */
function hoursAhead(time: string, of: number): number {
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Math.round((Date.parse(iso) - of) / HOUR) + 0;
}
