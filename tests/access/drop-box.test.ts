import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseFile } from '../../src/domain/path.ts';
import { bare, disk, memory } from '../contract/backend.ts';
import { assertFailure, assertSuccess, jsonOf } from '../http/client.ts';
import { EVERYONE, form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

for (const backend of [memory, bare, disk]) {
  describe(`A drop box: ${backend.name}`, () => {
    let service: GuardedService;
    before(async () => {
      service = await startGuardedService(backend);
    });
    after(() => service.stop());
    beforeEach(async () => {
      service.grant(grant('inbox/', ['write'], EVERYONE));
      await service.plant({ 'inbox/taken.txt': 'old', 'outside.txt': 'outside' });
    });

    const prefix = { name: 'prefix', value: 'inbox/' };
    const fileOf = (filename: string) => ({ name: 'file', filename, value: 'new' });
    /** The form with its parts in both orders. */
    const formsOf = (filename: string, headers?: Record<string, string>) => [
      form([prefix, fileOf(filename)], headers),
      form([fileOf(filename), prefix], headers),
    ];

    it('takes in what is new', async () => {
      const [first = {}, second = {}] = [...formsOf('1.txt').slice(0, 1), ...formsOf('2.txt').slice(1)];
      for (const call of [first, second]) assert.equal((await service.asNobody('/upload', call)).status, 200);
      // Once more, it is no longer new.
      for (const call of [first, second]) assertFailure(await service.asNobody('/upload', call), 401, /replace/);
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

    it('does not tell which folders are in it', async () => {
      await service.plant({ 'inbox/there/x.txt': '' });
      for (const folder of ['inbox/there/', 'inbox/not-there/', 'inbox/there/below/']) {
        const { entries, rights } = jsonOf(await service.asNobody(`/${folder}`));
        assert.deepEqual({ entries, rights }, { entries: [], rights: ['write'] }, folder);
      }
    });

    it('does not tell whether what is in it is the same as something else', async () => {
      service.grant(grant('mine/', ['read', 'write', 'manage']), grant('inbox/', ['write']));
      await service.plant({ 'inbox/pin': '4711', 'inbox/app/vote': 'yes', 'mine/pin': '4711', 'mine/app/vote': 'yes' });
      const untouched = await service.contents();
      for (const route of ['/copy', '/move']) {
        for (const [source, destination, isFolder] of [
          ['mine/pin', 'inbox/pin', false],
          ['mine/app/', 'inbox/app/', true],
        ] as const) {
          const answer = await service.asAnn(route, json({ source, destination, is_folder: isFolder }));
          assertFailure(answer, 409, /inbox\/(pin|app)/);
        }
      }
      assert.deepEqual(await service.contents(), untouched);
    });

    it('keeps what is there, whatever condition is sent', async () => {
      const { etag } = await service.store.stat(parseFile('inbox/taken.txt'));
      for (const [headers, status] of [
        [{}, 403],
        [{ 'if-match': `"${etag}"` }, 403],
        [{ 'if-match': '"other"' }, 403],
        [{ 'if-none-match': '*' }, 412],
      ] as const) {
        for (const call of formsOf('taken.txt', headers)) {
          assertFailure(await service.asAnn('/upload', call), status, /./);
        }
      }
      assert.deepEqual(await service.contents(), { 'inbox/taken.txt': 'old', 'outside.txt': 'outside' });
    });

    it('shows and gives nothing, not even what one has put there oneself', async () => {
      assert.equal((await service.asAnn('/upload', form([prefix, fileOf('own.txt')]))).status, 200);
      assert.deepEqual(jsonOf(await service.asAnn('/inbox/'))['entries'], []);
      for (const path of ['/file/inbox/own.txt', '/thumb/inbox/own.txt', '/file/inbox/no.txt']) {
        assertFailure(await service.asAnn(path), 403, /who may not read "inbox\//);
      }
    });

    it('lets nothing be put outside, neither by the prefix nor by the file name', async () => {
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
}
