import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { disk } from '../contract/backend.ts';
import { escapePath, type HttpResponse } from '../http/client.ts';
import { form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const NFC = 'caf\u00e9/';
const NFD = 'cafe\u0301/';

/** Ann has all permissions in `open/` and in the composed (NFC) folder. */
const TREE = {
  'Open/secret.txt': 'secret',
  'open /secret.txt': 'secret',
  'open%2F/secret.txt': 'secret',
  'open/x.txt': 'open',
  'open/%2e%2e/x.txt': 'a name like any other',
  'open2/secret.txt': 'secret',
  'secret/secret.txt': 'secret',
  [`${NFC}x.txt`]: 'open',
  [`${NFD}secret.txt`]: 'secret',
};

/** Spellings of the path `secret/secret.txt` that begin in `open/`, and similar ones. */
const DISGUISES = [
  'open/../secret/secret.txt',
  'open/..%2fsecret/secret.txt',
  'open/%2e%2e/secret/secret.txt',
  'open/%2E%2E%2Fsecret%2Fsecret.txt',
  'open%2f..%2fsecret%2fsecret.txt',
  'open/.%2e/secret/secret.txt',
  'open/%252e%252e/secret/secret.txt',
  'open/%252e%252e%252fsecret/secret.txt',
  'open/..%5csecret/secret.txt',
  'open/..;/secret/secret.txt',
  'open/..%00/secret/secret.txt',
  'open/%c0%ae%c0%ae/secret/secret.txt',
  'open//../secret/secret.txt',
  'open/./../secret/secret.txt',
  'open/x.txt/../../secret/secret.txt',
  '/secret/secret.txt',
  '//secret/secret.txt',
  '%2fsecret%2fsecret.txt',
  './secret/secret.txt',
  '%2e/secret/secret.txt',
  'secret/secret.txt',
  'secret%2Fsecret.txt',
  'Open/secret.txt',
  'OPEN/x.txt',
  'open%20/secret.txt',
  'open%252F/secret.txt',
  'open2/secret.txt',
  escapePath(`${NFD}secret.txt`),
];

const folderOf = (path: string) => path.replace(/secret\.txt$/, '');

/** Returns the path as the service decodes it from a URL. */
const decoded = (path: string) => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

describe('A path', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(disk);
    await service.plant(TREE);
    service.grant(grant('open/', PERMISSIONS), grant(NFC, PERMISSIONS));
  });
  after(() => service.stop());

  /**
   * The request is rejected, invalid, or for something that does not exist. No response contains anything of a closed
   * folder.
   */
  const assertDenied = ({ status, body }: HttpResponse, what: string) => {
    assert.ok([400, 403, 404].includes(status), `${what}: ${status} ${body.toString()}`);
    assert.doesNotMatch(body.toString(), /"entries"|^secret$/, what);
  };

  it('gives access only to the granted folder in every URL encoding', async () => {
    for (const path of DISGUISES) {
      const folder = folderOf(path);
      for (const [url, method] of [
        [`/file/${path}`, 'GET'],
        [`/file/${path}`, 'HEAD'],
        [`/thumb/${path}`, 'GET'],
        [`/${folder}`, 'GET'],
        [`/?prefix=${folder}`, 'GET'],
        [`/?prefix=/${folder}`, 'GET'],
        [`/delete/${path}`, 'DELETE'],
        [`/delete/${path}`, 'POST'],
        [`/delete_folder/${folder}`, 'DELETE'],
      ] as const) {
        // A path that only means the root of the service is another request.
        if (url === '/' || new URL(url, 'http://service').search === '?prefix=') continue;
        assertDenied(await service.asAnn(url, { method }), `${method} ${url}`);
      }
      const rename = json({ newName: 'renamed' });
      assertDenied(await service.asAnn(`/rename/${path}`, rename), `/rename/${path}`);
      assertDenied(await service.asAnn(`/rename_folder/${folder}`, rename), `/rename_folder/${folder}`);
    }
    assert.deepEqual(await service.contents(), TREE);
  });

  it('gives access only to the granted folder in a request body', async () => {
    for (const path of new Set(DISGUISES.flatMap((disguise) => [disguise, decoded(disguise)]))) {
      const folder = folderOf(path);
      const file = { name: 'file', filename: 'secret.txt', value: 'new' };
      const prefix = { name: 'prefix', value: folder };
      for (const [url, call] of [
        ['/copy', json({ source: path, destination: 'open/got.txt', is_folder: false })],
        ['/move', json({ source: path, destination: 'open/got.txt', is_folder: false })],
        ['/copy', json({ source: folder, destination: 'open/got', is_folder: true })],
        ['/move', json({ source: folder, destination: 'open/got', is_folder: true })],
        ['/copy', json({ source: 'open/x.txt', destination: path, is_folder: false, overwrite: true })],
        ['/copy', json({ source: NFC, destination: folder, is_folder: true, overwrite: true })],
        ['/upload', form([prefix, file])],
        ['/upload', form([file, prefix])],
        ['/create_folder', json({ path: `${folder}new` })],
      ] as const) {
        const response = await service.asAnn(url, call);
        // Bodies are not URL-decoded: an encoded ".." is an ordinary name there, if it is in the granted folder.
        const isName =
          path.startsWith('open/') && !path.split('/').some((segment) => ['', '.', '..'].includes(segment));
        if (!isName) assertDenied(response, `${url} of ${path}`);
      }
    }
    const isGranted = ([path]: [string, string]) => path.startsWith('open/') || path.startsWith(NFC);
    const contents = Object.entries(await service.contents());
    assert.deepEqual(
      Object.fromEntries(contents.filter((entry) => !isGranted(entry))),
      Object.fromEntries(Object.entries(TREE).filter((entry) => !isGranted(entry))),
    );
    assert.deepEqual(
      contents.filter((entry) => isGranted(entry) && entry[1] === 'secret'),
      [],
    );
    await service.plant(TREE);
  });

  it('reaches the granted folder in every equivalent form', async () => {
    for (const path of ['open/x.txt', '%2Fopen/x.txt', '/open/x.txt', 'o%70en%2Fx.txt', `${escapePath(NFC)}x.txt`]) {
      const { status, body } = await service.asAnn(`/file/${path}`);
      assert.equal(status, 200, path);
      assert.equal(body.toString(), 'open', path);
    }
    // A name that is encoded twice is an ordinary name.
    assert.equal((await service.asAnn('/file/open/%252e%252e/x.txt')).body.toString(), TREE['open/%2e%2e/x.txt']);
    for (const url of ['/open', '/open/', '/?prefix=open', '/?prefix=/open/', '/open/?prefix=open', '/%2Fopen%2F']) {
      assert.equal((await service.asAnn(url)).status, 200, url);
    }
  });

  it('is the same for the permission check and the listing', async () => {
    for (const url of [
      '/open/?prefix=secret',
      '/secret/?prefix=open',
      '/?prefix=open&prefix=secret',
      '/open?prefix=open2',
    ]) {
      assertDenied(await service.asAnn(url), url);
    }
  });
});
