import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { type FilePath, parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store, TrashStore } from '../../src/model/store.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, assertSuccess, type HttpResponse, jsonOf } from '../http/client.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

interface TrashPage {
  readonly entries: readonly { readonly id: string; readonly path: string; readonly size?: number }[];
  readonly cursor?: string;
}

describe('Permissions in the trash', () => {
  let service: GuardedService;
  /** Whether each restore succeeds without an effect. */
  let isDeceived = false;
  before(async () => {
    const wrap = (store: Store) => ({
      ...withPrivilegedFiles(store),
      restoreTrashed: async (...args: Parameters<TrashStore['restoreTrashed']>) => {
        if (!isDeceived) await store.restoreTrashed?.(...args);
      },
    });
    service = await startGuardedService(memory, { wrap });
  });
  after(() => service.stop());
  beforeEach(async () => {
    isDeceived = false;
    await service.empty();
  });

  /** Moves files and folders to the trash, and returns the id of each. */
  const trash = async (...paths: readonly string[]): Promise<KeptId[]> => {
    const ids: KeptId[] = [];
    for (const path of paths) {
      const parsed = path.endsWith('/') ? parseFolder(path) : parseFile(path);
      assert.ok(service.store.moveToTrash);
      ids.push((await service.store.moveToTrash(parsed, { id: newKeptId() })).id);
    }
    return ids;
  };
  const remaining = async () => (await service.store.listTrash?.())?.items.map(({ path }) => path);
  const page = (response: HttpResponse) => {
    assert.equal(response.status, 200, response.body.toString());
    return jsonOf(response) as unknown as TrashPage;
  };
  const restore = (id: string, body: object = {}) => service.asAnn(`/-/trash/${id}/restore`, json(body));
  const remove = (path: string) => service.asAnn(path, { method: 'DELETE' });

  it('list only items that the user can read, with cursors that name only these', async () => {
    const names = Array.from({ length: 24 }, (_, index) => (index % 3 === 0 ? `open/${index}` : `closed/${index}`));
    await service.plant(Object.fromEntries(names.map((name) => [name, name])));
    await trash(...names);
    service.grant(grant('', ['read', 'write']), grant('closed/', []));
    const expected = names.filter((name) => name.startsWith('open/')).toReversed();
    for (const limit of [1, 3, 1000]) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const next: string = cursor === undefined ? '' : `&cursor=${cursor}`;
        const listed = page(await service.asAnn(`/-/trash?limit=${limit}${next}`));
        assert.ok(listed.entries.length <= limit);
        found.push(...listed.entries.map(({ path }) => path));
        ({ cursor } = listed);
        // The cursors of these stores are ids.
        if (cursor !== undefined) assert.equal(cursor, listed.entries.at(-1)?.id);
      } while (cursor !== undefined);
      assert.deepEqual(found, expected, String(limit));
    }
    assertFailure(await service.asAnn('/-/trash?folder=closed'), 403, /don't have permission to read "closed\/"/);
  });

  it('give the same response for an id that is invisible and one that does not exist', async () => {
    await service.plant({ 'closed/a': 'secret', 'inbox/b': 'secret', 'open/c': '1' });
    const [closed = '', inbox = ''] = await trash('closed/a', 'inbox/b');
    service.grant(grant('open/', PERMISSIONS), grant('inbox/', ['write', 'manage']));
    for (const id of [closed, inbox, newKeptId()]) {
      const message = `The trash has no item "${id}".`;
      assertFailure(await restore(id), 404, message);
      assertFailure(await restore(id, { to: 'open/stolen' }), 404, message);
      assertFailure(await restore(id, { to: 'open/stolen', onConflict: 'rename' }), 404, message);
      assertFailure(await remove(`/-/trash/${id}`), 404, message);
      // Without any permission, no id leads to a response about an item.
      assertFailure(
        await service.asAnonymous(`/-/trash/${id}`, { method: 'DELETE' }),
        401,
        'Sign in to read the root.',
      );
    }
    assert.deepEqual(await remaining(), ['inbox/b', 'closed/a']);
  });

  it('omit the size of a folder with a closed folder in it', async () => {
    await service.plant({ 'f/a': '1', 'f/closed/b': 'secret' });
    const [id = ''] = await trash('f/');
    await service.store.measureTrashed?.(id as KeptId);
    service.grant(grant('', ['read', 'manage']));
    assert.equal(page(await service.asAnn('/-/trash')).entries[0]?.size, 7);
    service.grant(grant('', ['read', 'manage']), grant('f/closed/', []));
    assert.deepEqual(
      page(await service.asAnn('/-/trash')).entries.map(({ path, size }) => [path, size]),
      [['f/', undefined]],
    );
  });

  it('restore nothing to a place where the user could not write or read it', async () => {
    await service.plant({ 'f/a': '1', 'f/closed/b': 'secret', 'g/c': '2', 'h/d': '3' });
    const [folder = '', file = ''] = await trash('f/', 'g/c');
    service.grant(grant('', ['read', 'write']), grant('f/closed/', []), grant('h/', ['read']));
    // Its closed folder would be written to.
    assertFailure(await restore(folder, { to: 'open' }), 403, /add to all of "f\/"/);
    assertFailure(await restore(folder), 403, /add to all of "f\/"/);
    assertFailure(await restore(file, { to: 'h/c' }), 403, /add to "h\/c"/);
    // Its closed folder would become readable.
    service.grant(grant('', ['read', 'write']), grant('f/closed/', ['write']));
    assertFailure(await restore(folder, { to: 'open' }), 403, /read all of "f\/"/);
    // The name of a closed folder, whether that exists or not.
    service.grant(grant('', ['read', 'write']), grant('g/secret/', []));
    assertFailure(await restore(file, { to: 'g/secret' }), 403, /add to "g\/secret"/);
    // A file that changes how the store treats other files.
    assertFailure(await restore(file, { to: 'g/.privileged' }), 403, /requires "manage" on the root/);
    assert.deepEqual(await service.contents(), { 'h/d': '3' });
    assertSuccess(await restore(file), { message: 'Item restored successfully', path: 'g/c' });
  });

  it('restore nothing to a numbered name where the user could read more of it than before', async () => {
    await service.plant({ 'q/mix/drop/secret': 'secret', 'q/mix/a': '1' });
    const [id = ''] = await trash('q/mix/');
    await service.plant({ 'q/mix/b': '2' });
    service.grant(grant('q/', PERMISSIONS), grant('q/mix/drop/', ['write', 'manage']));
    assertFailure(await restore(id, { onConflict: 'rename' }), 403, /read all of "q\/mix\/"/);
    assert.deepEqual(await service.contents(), { 'q/mix/b': '2' });
    await service.store.remove(parseFile('q/mix/b'));
    await service.store.removeFolder(parseFolder('q/mix'));
    assertSuccess(await restore(id, { onConflict: 'rename' }), {
      message: 'Item restored successfully',
      path: 'q/mix/',
    });
  });

  it('do not reveal what is in a folder that the user can only add to', async () => {
    const present = { 'inbox/pin': '4711', 'inbox/other': '1', 'inbox/folder/x': '1' };
    await service.plant({ ...present, 'mine/pin': '4711', 'mine/pins/pin': '4711' });
    const [pin = '', pins = ''] = await trash('mine/pin', 'mine/pins/');
    service.grant(grant('mine/', PERMISSIONS), grant('inbox/', ['write']));
    // The same for equal and for other content, and for a file and a folder.
    for (const to of ['inbox/pin', 'inbox/other', 'inbox/folder']) {
      assertFailure(
        await restore(pin, { to }),
        403,
        `You are signed in as "ann" and don't have permission to replace "${to}".`,
      );
    }
    assertFailure(await restore(pins, { to: 'inbox/folder' }), 403, /permission to replace "inbox\/folder\/"/);
    assert.deepEqual(await service.contents(), present);
    // Also if the store takes an equal file for the result of an interrupted restore.
    isDeceived = true;
    assertFailure(await restore(pin, { to: 'inbox/pin' }), 403, /permission to replace "inbox\/pin"/);
    isDeceived = false;
    const renamed = await restore(pin, { to: 'inbox/pin', onConflict: 'rename' });
    assertSuccess(renamed, { message: 'Item restored successfully', path: 'inbox/pin (2)' });
  });

  it('empty only the part of the trash that the user may delete', async () => {
    await service.plant({ 'a/1': '1', 'a/f/2': '2', 'a/g/3': '3', 'b/4': '4', 'c/5': '5', 'c/6': '6' });
    await trash('a/1', 'a/f/', 'a/g/', 'b/4', 'c/5');
    service.grant(
      grant('a/', PERMISSIONS),
      grant('a/g/', ['read']),
      grant('b/', ['read', 'write']),
      grant('c/', ['manage']),
    );
    assertFailure(await remove('/-/trash?folder=b'), 403, /permission to change "b\/"/);
    assertFailure(await remove('/-/trash?folder=c'), 403, /permission to change "c\/"/);
    service.events();
    assertSuccess(await remove('/-/trash'), { message: 'Trash emptied successfully', removed: 2 });
    assert.deepEqual(await remaining(), ['c/5', 'b/4', 'a/g/']);
    assert.deepEqual(
      service.events().map(({ event, action, path, outcome }) => [event, action, path, outcome]),
      ['a/f/', 'a/1'].map((path) => ['change', 'delete from trash', path, 'done']),
    );
  });

  it('restore a version only over a file that the user may replace', async () => {
    const write = async (path: string, text: string) => {
      await service.store.write(
        parseFile(path),
        { body: Readable.from([Buffer.from(text)]), type: 'text/plain' },
        { keep: {} },
      );
    };
    for (const path of ['f/a', 'f/.privileged']) for (const text of ['old', 'new']) await write(path, text);
    const versionOf = async (path: string) =>
      (await service.store.listVersions?.(path as FilePath))?.versions[0]?.id ?? assert.fail(path);
    const version = await versionOf('f/a');
    const call = json({ version });
    service.grant(grant('f/', ['read', 'write']));
    assertFailure(await service.asAnn('/-/versions/f/a', call), 403, /permission to replace "f\/a"/);
    service.grant(grant('f/', PERMISSIONS));
    const privileged = json({ version: await versionOf('f/.privileged') });
    assertFailure(await service.asAnn('/-/versions/f/.privileged', privileged), 403, /requires "manage" on the root/);
    service.grant(grant('f/', ['write', 'manage']));
    for (const [path, options] of [
      ['/-/versions/f/a', {}],
      ['/-/versions/f/a', call],
      [`/file/f/a?version=${version}`, {}],
      [`/thumb/f/a?version=${version}`, {}],
    ] as const) {
      assertFailure(await service.asAnn(path, options), 403, /permission to read "f\/a"/);
    }
    assert.deepEqual(await service.contents(), { 'f/.privileged': 'new', 'f/a': 'new' });
    service.grant(grant('f/', ['read', 'write']));
    await service.store.remove(parseFile('f/a'));
    assert.equal((await service.asAnn('/-/versions/f/a', call)).status, 200);
    assert.deepEqual(await service.contents(), { 'f/.privileged': 'new', 'f/a': 'old' });
  });

  it('record who deleted, restored and removed what', async () => {
    service.grant(grant('', PERMISSIONS));
    await service.plant({ a: '1', b: '2', 'f/c': '3' });
    const done = async (response: Promise<HttpResponse>, event: object) => {
      assert.equal((await response).status, 200);
      assert.deepEqual(service.events(), [{ event: 'change', ...event, outcome: 'done', who: 'ann', way: 'token' }]);
    };
    await done(remove('/delete/a'), { action: 'delete', path: 'a' });
    await done(remove('/delete/b?permanent=true'), { action: 'delete permanently', path: 'b' });
    await done(remove('/delete_folder/f'), { action: 'delete folder', path: 'f/' });
    const { entries } = page(await service.asAnn('/-/trash'));
    assert.deepEqual(
      entries.map((entry) => [entry.path, Reflect.get(entry, 'user')]),
      [
        ['f/', 'ann'],
        ['a', 'ann'],
      ],
    );
    const [folder = '', file = ''] = entries.map(({ id }) => id);
    await done(restore(file, { to: 'z' }), { action: 'restore', path: 'a', destination: 'z' });
    await done(remove(`/-/trash/${folder}`), { action: 'delete from trash', path: 'f/' });
    service.grant(grant('', PERMISSIONS), grant('', ['read'], EVERYONE));
    const [item = ''] = await trash('z');
    const refused = await service.asAnonymous(`/-/trash/${item}`, { method: 'DELETE' });
    assertFailure(refused, 401, 'Sign in to use the trash and versions.');
    const [event] = service.events();
    assert.partialDeepStrictEqual(event, {
      event: 'refusal',
      action: 'delete from trash',
      outcome: 'refused',
    });
  });
});

/** The store with a file whose name changes how it treats other files. */
const withPrivilegedFiles = (store: Store): Store => ({
  ...store,
  isPrivileged: (file) => file.endsWith('.privileged'),
});
