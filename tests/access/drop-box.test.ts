import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { disk, memory } from '../contract/backend.ts';
import { assertFailure, assertSuccess, type Call, jsonOf } from '../http/client.ts';
import { EVERYONE, form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const prefix = { name: 'prefix', value: 'inbox/' };
const fileOf = (filename: string) => ({ name: 'file', filename, value: 'new' });
/** Returns the form with its parts in both orders. */
const formsOf = (filename: string, headers?: Record<string, string>) => [
  form([prefix, fileOf(filename)], headers),
  form([fileOf(filename), prefix], headers),
];

describe('A drop box', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory);
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(grant('inbox/', ['write'], EVERYONE));
    await service.plant({ 'inbox/taken.txt': 'old', 'outside.txt': 'outside' });
  });

  it('accepts new files', async () => {
    const [first = {}, second = {}] = [...formsOf('1.txt').slice(0, 1), ...formsOf('2.txt').slice(1)];
    for (const call of [first, second]) assert.equal((await service.asAnonymous('/upload', call)).status, 200);
    // The second time, the file is not new.
    for (const call of [first, second]) assertFailure(await service.asAnonymous('/upload', call), 401, /replace/);
    assertSuccess(await service.asAnn('/create_folder', json({ path: 'inbox/below' })), {
      message: 'Folder created successfully',
    });
    assert.deepEqual(await service.contents(), {
      'inbox/1.txt': 'new',
      'inbox/2.txt': 'new',
      'inbox/taken.txt': 'old',
      'outside.txt': 'outside',
    });
  });

  it('does not reveal which folders exist', async () => {
    await service.plant({ 'inbox/there/x.txt': '' });
    for (const folder of ['inbox/there/', 'inbox/not-there/', 'inbox/there/below/']) {
      const { entries, rights } = jsonOf(await service.asAnonymous(`/${folder}`));
      assert.deepEqual({ entries, rights }, { entries: [], rights: ['write'] }, folder);
    }
  });

  it('does not reveal which folders exist by the limit of new folders', async () => {
    await service.plant({ 'inbox/there/x.txt': '' });
    for (const folder of ['there', 'not-there']) {
      const path = `inbox/${folder}/${'q/'.repeat(32)}`;
      const file = { name: 'file', filename: 'x.txt', value: 'new' };
      for (const [route, call] of [
        ['/create_folder', json({ path })],
        ['/upload', form([{ name: 'prefix', value: path }, file])],
      ] as const) {
        assertFailure(await service.asAnonymous(route, call), 400, /more than 32 folders/);
      }
    }
  });

  it('does not reveal whether a file has the same content as another file', async () => {
    service.grant(grant('mine/', ['read', 'write', 'manage']), grant('inbox/', ['write']));
    await service.plant({ 'inbox/pin': '4711', 'inbox/app/vote': 'yes', 'mine/pin': '4711', 'mine/app/vote': 'yes' });
    const untouched = await service.contents();
    for (const route of ['/copy', '/move']) {
      for (const [source, destination, isFolder] of [
        ['mine/pin', 'inbox/pin', false],
        ['mine/app/', 'inbox/app/', true],
      ] as const) {
        const response = await service.asAnn(route, json({ source, destination, is_folder: isFolder }));
        assertFailure(response, 403, /and don't have permission to replace "inbox\/(pin|app\/)"/);
      }
    }
    assert.deepEqual(await service.contents(), untouched);
  });

  it('keeps existing files regardless of request conditions', async () => {
    const { etag } = await service.store.stat(parseFile('inbox/taken.txt'));
    const conditions: Record<string, string>[] = [{}, { 'if-match': `"${etag}"` }, { 'if-match': '"other"' }];
    for (const call of formsOf('taken.txt', { 'if-none-match': '*' })) {
      assertFailure(await service.asAnn('/upload', call), 412, /The name of "inbox\/taken\.txt"/);
      assertFailure(await service.asAnonymous('/upload', call), 412, /The name of "inbox\/taken\.txt"/);
    }
    for (const headers of conditions) {
      for (const call of formsOf('taken.txt', headers)) {
        assertFailure(
          await service.asAnn('/upload', call),
          403,
          /and don't have permission to replace "inbox\/taken\.txt"/,
        );
      }
    }
    assert.deepEqual(await service.contents(), { 'inbox/taken.txt': 'old', 'outside.txt': 'outside' });
  });

  it('refuses to delete a file with conditions as without them', async () => {
    for (const path of ['/file/inbox/taken.txt', '/delete/inbox/taken.txt', '/file/inbox/free.txt']) {
      const remove = (headers: Record<string, string> = {}) => service.asAnonymous(path, { method: 'DELETE', headers });
      const without = await remove();
      assertFailure(without, 401, /Sign in to change "inbox/);
      const conditions: readonly Record<string, string>[] = [
        { 'if-none-match': '*' },
        { 'if-none-match': '"x"' },
        { 'if-match': '*' },
        { 'if-match': 'W/"x"' },
        { 'if-match': '"x"' },
        { 'if-unmodified-since': 'Fri, 20 Nov 2026 09:29:59 GMT' },
      ];
      for (const condition of conditions) {
        const response = await remove(condition);
        assert.deepEqual([response.status, response.body], [without.status, without.body], JSON.stringify(condition));
      }
    }
  });

  it('hides all files, including those that the user uploaded', async () => {
    assert.equal((await service.asAnn('/upload', form([prefix, fileOf('own.txt')]))).status, 200);
    assert.deepEqual(jsonOf(await service.asAnn('/inbox/'))['entries'], []);
    for (const path of ['/file/inbox/own.txt', '/thumb/inbox/own.txt', '/file/inbox/no.txt']) {
      assertFailure(await service.asAnn(path), 403, /and don't have permission to read "inbox\//);
    }
  });

  it('rejects uploads outside the folder by prefix or by file name', async () => {
    for (const value of ['', '/', 'inb', 'inbox-2/', 'Inbox/', 'inbox/../', '../', 'inbox%2F../x']) {
      for (const parts of [
        [{ name: 'prefix', value }, fileOf('x.txt')],
        [fileOf('x.txt'), { name: 'prefix', value }],
      ]) {
        const { status, body } = await service.asAnn('/upload', form(parts));
        assert.ok(status === 403 || status === 400, `${value}: ${body.toString()}`);
      }
    }
    assert.equal((await service.asAnn('/upload', form([prefix, fileOf('../../up.txt')]))).status, 200);
    assert.deepEqual(Object.keys(await service.contents()).toSorted(), [
      'inbox/taken.txt',
      'inbox/up.txt',
      'outside.txt',
    ]);
  });
});

// The errors for existing files are those of the store, and a disk has the most kinds of them.
describe('A drop box on a disk', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(disk);
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(grant('inbox/', ['write'], EVERYONE));
    await service.plant({ 'inbox/taken.txt': 'old', 'outside.txt': 'outside' });
  });

  /** The possible states of `inbox/NAME`: the files in the store, by what follows this path. */
  const STATES = { nothing: undefined, 'a file': '', 'a folder': '/x' };
  let names = 0;

  type Requests = (name: string) => readonly (readonly [path: string, call: Call])[];

  /** Returns the responses to each request in each state, without their IDs and dates. */
  const responsesOf = async (requests: Requests) => {
    const responses: { request: string; status: number; metadata: object; body: string }[][] = [];
    for (const index of requests('name').keys()) {
      responses[index] = [];
      for (const below of Object.values(STATES)) {
        const name = `name${String(++names).padStart(4, '0')}`;
        const existing = below === undefined ? {} : { [`inbox/${name}${below}`]: 'secret' };
        await service.plant({ ...existing, 'mine/file': 'mine', 'mine/folder/x': 'mine' });
        const [path, call] = requests(name)[index] ?? assert.fail();
        const { status, headers, body } = await service.asAnn(path, call);
        const { date: _, 'x-request-id': __, ...metadata } = headers;
        const request = `${path.replace(name, 'NAME')} ${index}`;
        responses[index].push({ request, status, metadata, body: body.toString().replaceAll(name, 'NAME') });
      }
    }
    return responses;
  };
  const nameOf = (filename: string, headers?: Record<string, string>) => form([prefix, fileOf(filename)], headers);
  const transfer = (source: string, destination: string) =>
    json({ source, destination, is_folder: source.endsWith('/') });

  it('returns the same error for every kind of existing item', async () => {
    service.grant(grant('inbox/', ['write']), grant('mine/', ['read', 'write', 'manage']));
    const responses = await responsesOf((name) => [
      ['/upload', nameOf(name)],
      ['/upload', nameOf(name, { 'if-none-match': '*' })],
      ['/upload', form([{ ...prefix, value: `inbox/${name}` }, fileOf('below')])],
      ['/upload', form([{ ...prefix, value: `inbox/${name}` }, fileOf('x')], { 'if-none-match': '*' })],
      ['/create_folder', json({ path: `inbox/${name}` })],
      ['/create_folder', json({ path: `inbox/${name}/x` })],
      ['/copy', transfer('mine/file', `inbox/${name}`)],
      ['/copy', transfer('mine/folder/', `inbox/${name}/`)],
      ['/copy', transfer('mine/file', `inbox/${name}/x`)],
      ['/move', transfer('mine/file', `inbox/${name}`)],
      ['/move', transfer('mine/folder/', `inbox/${name}/`)],
    ]);
    for (const each of responses) {
      const refusals = each.filter(({ status }) => status !== 200);
      assert.ok(refusals.every(({ status }) => status === 403 || status === 412));
      for (const refusal of refusals) {
        assert.match(refusal.body, /(don't have permission to replace|The name of) \\"inbox\/NAME/);
        assert.deepEqual(refusal, refusals[0]);
      }
    }
  });

  it("returns the same response for existing and missing files to requests that can't add a file", async () => {
    service.grant(grant('inbox/', ['write']), grant('mine/', ['read', 'write', 'manage']));
    const responses = await responsesOf((name) => [
      [`/file/inbox/${name}`, {}],
      [`/thumb/inbox/${name}`, {}],
      [`/inbox/${name}/`, {}],
      [`/delete/inbox/${name}`, { method: 'DELETE' }],
      [`/delete_folder/inbox/${name}`, { method: 'DELETE' }],
      [`/rename/inbox/${name}`, json({ newName: 'other' })],
      [`/rename_folder/inbox/${name}`, json({ newName: 'other' })],
      ['/copy', transfer(`inbox/${name}`, 'mine/copy')],
      ['/move', transfer(`inbox/${name}/`, 'mine/copy/')],
      ['/upload', nameOf(name, { 'if-match': '"etag"' })],
      ['/copy', json({ source: 'mine/file', destination: `inbox/${name}`, is_folder: false, overwrite: true })],
    ]);
    for (const each of responses) for (const response of each) assert.deepEqual(response, each[0]);
  });

  it('does not reveal a closed folder to a user who adds a file with the same name', async () => {
    const responses = await responsesOf((name) => {
      service.grant(grant('', ['read', 'write', 'manage']), grant(`inbox/${name}/`, []));
      return [
        ['/upload', nameOf(name)],
        ['/upload', nameOf(name, { 'if-none-match': '*' })],
        ['/copy', transfer('mine/file', `inbox/${name}`)],
        ['/move', transfer('mine/file', `inbox/${name}`)],
        ['/rename/mine/file', json({ newName: name })],
        ['/create_folder', json({ path: `inbox/${name}` })],
        ['/create_folder', json({ path: `inbox/${name}/x` })],
        ['/copy', transfer('mine/folder/', `inbox/${name}/`)],
        [`/inbox/${name}/`, {}],
        [`/file/inbox/${name}`, {}],
        [`/delete/inbox/${name}`, { method: 'DELETE' }],
      ];
    });
    for (const [nothing, , folder] of responses) assert.deepEqual(folder, nothing);
  });

  it('does not reveal a file to a user who has access only to a folder of the same path', async () => {
    service.grant(grant('inbox/', ['write']), grant('mine/', ['read', 'write', 'manage']));
    const responses = await responsesOf((name) => {
      service.grant(grant(`inbox/${name}/`, ['read', 'write', 'manage']), grant('mine/', ['read']));
      return [
        ['/upload', form([{ ...prefix, value: `inbox/${name}` }, fileOf('below')])],
        ['/create_folder', json({ path: `inbox/${name}/below` })],
        ['/copy', transfer('mine/file', `inbox/${name}/below`)],
        [`/inbox/${name}/`, {}],
        [`/file/inbox/${name}/below`, {}],
      ];
    });
    for (const [nothing, file] of responses) {
      assert.ok(nothing && file);
      if (nothing.status !== 200) assert.deepEqual(file, nothing);
      else if (file.status !== 200) assert.equal(file.status, 403, `${file.request}: ${file.body}`);
    }
  });
});
