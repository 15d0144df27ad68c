import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sharp from 'sharp';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { until } from '../../testing/until.ts';
import { disk } from '../contract/backend.ts';
import { begin, type Call, jsonOf } from '../http/client.ts';
import { EVERYONE, form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const LARGE = Buffer.alloc(6 * 2 ** 20, 'x');

describe('The audit log with AUDIT_READS', () => {
  let service: GuardedService;
  let image: Buffer;
  before(async () => {
    image = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer();
    service = await startGuardedService(disk, { hasJobs: true, auditReads: true });
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(grant('', PERMISSIONS), grant('public/', ['read'], EVERYONE));
    await service.plant({
      'a/x.txt': 'four',
      'a/y.txt': 'y',
      'a/p.jpg': image,
      'a/large.bin': LARGE,
      'public/o.txt': 'o',
    });
    service.events();
  });

  /** Returns the events up to the next line, which is written after the client has the response. */
  const nextEvents = () =>
    until('the read is recorded', () => {
      const events = service.events();
      return events.length > 0 ? events : undefined;
    });
  const byAnn = { event: 'read', outcome: 'done', who: 'ann', way: 'token' };
  const reads = async (path: string, expected: object, call: Call = {}) => {
    const response = await service.asAnn(path, call);
    assert.ok(response.status < 400, `${path}: ${response.status} ${response.body.toString()}`);
    assert.deepEqual(await nextEvents(), [{ ...byAnn, bytes: response.body.length, ...expected }], path);
    return response;
  };

  it('records the path and bytes of each content that a user reads, by every route', async () => {
    const fetch = { action: 'fetch', path: 'a/x.txt' };
    await reads('/file/a/x.txt', { ...fetch, bytes: 4 });
    await reads('/file/a/x.txt', { ...fetch, bytes: 4 });
    await reads('/-/dav/a/x.txt', { ...fetch, bytes: 4 });
    await reads('/file/a/x.txt', { ...fetch, bytes: 2, range: 'bytes 1-2/4' }, { headers: { range: 'bytes=1-2' } });
    await reads('/thumb/a/p.jpg', { action: 'thumbnail', path: 'a/p.jpg' });
    await reads('/-/preview/a/p.jpg?width=320', { action: 'preview', path: 'a/p.jpg' });
    await reads('/-/zip/a/', { action: 'download archive', path: 'a/' });
    const range = { headers: { range: 'bytes=0-9' } };
    const { headers } = await reads(
      '/-/zip/public/',
      { action: 'download archive', path: 'public/', bytes: 10, range: 'bytes 0-9/157' },
      range,
    );
    assert.equal(headers['content-range'], 'bytes 0-9/157');
    await reads(
      '/-/zip',
      { action: 'download archive', paths: ['a/x.txt', 'public/'] },
      json({ paths: ['a/x.txt', 'public/'] }),
    );
  });

  it('records the ID of a version, and anonymous reads', async () => {
    await service.asAnn(
      '/upload',
      form([
        { name: 'prefix', value: 'a' },
        { name: 'file', filename: 'x.txt', value: 'new' },
      ]),
    );
    const { versions } = jsonOf(await service.asAnn('/-/versions/a/x.txt')) as { versions: { id: string }[] };
    const version = versions[0]?.id ?? assert.fail('The file has a version.');
    service.events();
    await reads(`/file/a/x.txt?version=${version}`, { action: 'fetch', path: 'a/x.txt', version, bytes: 4 });
    await service.asAnonymous('/file/public/o.txt');
    assert.deepEqual(await nextEvents(), [
      {
        event: 'read',
        action: 'fetch',
        path: 'public/o.txt',
        bytes: 1,
        outcome: 'done',
        who: undefined,
        way: undefined,
      },
    ]);
  });

  it('records a redirect without bytes, and the read at its signed URL', async () => {
    for (const method of ['HEAD', 'GET']) {
      const { headers } = await reads(
        '/file/a/large.bin',
        { action: 'fetch', path: 'a/large.bin', bytes: null },
        { method },
      );
      const signed = new URL(headers['location'] ?? '', 'http://host/file/a/large.bin');
      await service.asAnonymous(signed.pathname + signed.search);
      assert.deepEqual(await nextEvents(), [
        {
          event: 'read',
          action: 'fetch signed URL',
          path: 'a/large.bin',
          bytes: LARGE.length,
          outcome: 'done',
          who: undefined,
          way: undefined,
        },
      ]);
    }
  });

  it('records the link of a visitor, with the paths in the store', async () => {
    const created = jsonOf(await service.asAnn('/-/links', json({ path: 'a/' }))) as {
      token: string;
      link: { id: string };
    };
    service.events();
    const byVisitor = { ...byAnn, who: undefined, way: 'link', link: created.link.id };
    for (const [path, expected, call = {}] of [
      ['file/x.txt', { action: 'fetch', path: 'a/x.txt' }],
      ['thumb/p.jpg', { action: 'thumbnail', path: 'a/p.jpg' }],
      ['-/preview/p.jpg?width=320', { action: 'preview', path: 'a/p.jpg' }],
      ['-/zip/', { action: 'download archive', path: 'a/' }],
      ['-/zip', { action: 'download archive', paths: ['a/x.txt', 'a/y.txt'] }, json({ paths: ['x.txt', 'y.txt'] })],
    ] as const) {
      const { status, body } = await service.asAnonymous(`/-/s/${created.token}/${path}`, call);
      assert.equal(status, 200, path);
      assert.deepEqual(await nextEvents(), [{ ...byVisitor, bytes: body.length, ...expected }], path);
    }
    const { headers } = await service.asAnonymous(`/-/s/${created.token}/file/large.bin`);
    const redirected = { ...byVisitor, action: 'fetch', path: 'a/large.bin', bytes: null };
    assert.deepEqual(await nextEvents(), [redirected]);
    const signed = new URL(headers['location'] ?? '', `http://host/-/s/${created.token}/file/large.bin`);
    await service.asAnonymous(signed.pathname + signed.search);
    assert.deepEqual(await nextEvents(), [{ ...redirected, action: 'fetch signed URL', bytes: LARGE.length }]);
  });

  it('records a download that breaks off as failed, with at most its bytes', async () => {
    // More than the buffers of both ends hold.
    const content = Buffer.alloc(32 * 2 ** 20, 'x');
    await service.plant({ 'a/large.bin': content });
    const { headers } = await service.asAnn('/file/a/large.bin');
    await nextEvents();
    const { pathname, search } = new URL(headers['location'] ?? '', 'http://host/file/a/large.bin');
    const download = begin(service.port, pathname + search);
    await download.response;
    download.disconnect();
    const [event = {}, ...others] = await nextEvents();
    assert.deepEqual(others, []);
    assert.equal(event['outcome'], 'failed');
    assert.ok(Number(event['bytes']) >= 0 && Number(event['bytes']) < content.length);
  });

  it('has lines of at most a hundred paths', async () => {
    const paths = Array.from({ length: 150 }, (_, index) => `many/${index}.txt`);
    await service.plant(Object.fromEntries(paths.map((path) => [path, 'z'])));
    await service.asAnn('/-/zip', json({ paths }));
    const events = await nextEvents();
    assert.deepEqual(
      events.map((event) => event['paths']),
      [paths.slice(0, 100), paths.slice(100)],
    );
  });

  it('records nothing for responses without content', async () => {
    const { headers } = await service.asAnn('/file/a/x.txt');
    await nextEvents();
    for (const [path, call] of [
      ['/file/a/x.txt', { headers: { 'if-none-match': String(headers['etag']) } }],
      ['/file/a/x.txt', { method: 'HEAD' }],
      ['/thumb/a/p.jpg', { method: 'HEAD' }],
      ['/-/zip/a/', { method: 'HEAD' }],
      ['/-/dav/a/', {}],
      ['/file/a/missing', {}],
      ['/a/', {}],
    ] as const) {
      await service.asAnn(path, call);
    }
    await nextTurn();
    assert.deepEqual(service.events(), []);
  });
});
