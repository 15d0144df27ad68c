import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFiles, type Files } from '../../src/files/files.ts';
import { SharedFiles } from '../../src/files/shared-files.ts';
import { StoreError } from '../../src/model/error.ts';
import { MAX_KEY_BYTES } from '../../src/model/path.ts';
import { disk, memory } from '../contract/backend.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';

const CURSORS = {
  seal: (cursor: string) => Buffer.from(Buffer.from(cursor).toReversed()).toString('hex'),
  open: (sealed: string) => {
    const bytes = Buffer.from(sealed, 'hex');
    return bytes.length * 2 === sealed.length ? Buffer.from(bytes.toReversed()).toString() : undefined;
  },
};

const share = (files: Files, path: string, only?: string) =>
  new SharedFiles(files, {
    folder: folder(path),
    file: only,
    cursors: CURSORS,
    sign: ({ file: signed, download }) => `/signed/${signed}?download=${download}`,
  });

/** Returns files whose members all fail with this error. */
const failing = (error: Error) =>
  new Proxy({} as Files, {
    get: (_, member) =>
      member === 'maxPathBytes'
        ? () => MAX_KEY_BYTES
        : async () => {
            throw error;
          },
  });

const messageOf = (operation: Promise<unknown>): Promise<string> =>
  operation.then(
    () => assert.fail('The operation succeeded.'),
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

for (const backend of [memory, disk]) {
  describe(`Shared files: ${backend.name}`, () => {
    const TREE = { 'secret/s/a.txt': 'a', 'secret/s/sub/b.txt': 'b', 'secret/sx.txt': 'x', 'secret/c.txt': 'c' };
    const open = async (path = 'secret/s/', only?: string) => {
      const opened = await backend.open();
      await plant(opened.store, TREE);
      const files = share(createFiles(opened.store, { presignExpires: 60 }), path, only);
      return { files, store: opened.store, [Symbol.asyncDispose]: opened.close };
    };
    const contentOf = (files: Files, path: string) => textOf(files, path);
    const tree = (files: Files) => treeOf(files);

    it('shows the folder as the root, and nothing else', async () => {
      await using shared = await open();
      assert.deepEqual(await tree(shared.files), { 'a.txt': 'a', 'sub/': null, 'sub/b.txt': 'b' });
      assert.equal((await shared.files.stat(file('a.txt'))).path, 'a.txt');
      for (const path of ['sx.txt', 'c.txt', 'secret/c.txt', 's/a.txt']) {
        const failure = messageOf(shared.files.stat(file(path)));
        assert.equal(await failure, `The file "${path}" does not exist.`);
      }
    });

    it('changes files below the folder only', async () => {
      await using shared = await open();
      const { files, store } = shared;
      const options = { replace: false };
      const written = await files.upload({ target: { path: file('new.txt') }, body: upload('new').body });
      assert.equal(written.path, 'new.txt');
      assert.equal((await files.copyFile(file('a.txt'), file('sub/copy.txt'), options)).path, 'sub/copy.txt');
      assert.equal(await files.renameFile(file('a.txt'), 'z.txt', options), 'z.txt');
      assert.equal(await files.renameFolder(folder('sub/'), 'below', options), 'below/');
      await files.moveFile(file('z.txt'), file('deep/z.txt'), options);
      await files.createFolder(folder('empty/'));
      await files.copyFolder(folder('below/'), folder('again/'), options);
      await files.moveFolder(folder('again/'), folder('moved/'), options);
      await files.deleteFolder(folder('moved/'));
      await files.deleteFile(file('new.txt'));
      assert.deepEqual(await treeOf(store), {
        'secret/': null,
        'secret/c.txt': 'c',
        'secret/s/': null,
        'secret/s/below/': null,
        'secret/s/below/b.txt': 'b',
        'secret/s/below/copy.txt': 'a',
        'secret/s/deep/': null,
        'secret/s/deep/z.txt': 'a',
        'secret/s/empty/': null,
        'secret/sx.txt': 'x',
      });
      for (const change of [
        files.deleteFolder(folder('')),
        files.renameFolder(folder(''), 'x', options),
        files.moveFolder(folder(''), folder('x/'), options),
        files.moveFolder(folder('below/'), folder(''), { replace: true }),
        files.createFolder(folder('')),
      ]) {
        await assert.rejects(change, ofKind('invalid-path'));
      }
    });

    it('shows a shared file, and none of its neighbours', async () => {
      await using shared = await open('secret/', 'c.txt');
      const { files } = shared;
      assert.deepEqual(await tree(files), { 'c.txt': 'c' });
      assert.equal(await contentOf(files, 'c.txt'), 'c');
      assert.equal(files.readCached(file('sx.txt')), undefined);
      for (const path of ['sx.txt', 's/a.txt', 'c.txt/x']) {
        await assert.rejects(files.stat(file(path)), ofKind('not-found'));
        await assert.rejects(files.download(file(path), { asAttachment: false }), ofKind('not-found'));
      }
      await assert.rejects(files.list(folder('s/')), ofKind('not-found'));
    });

    it('returns sealed cursors, and accepts no others', async () => {
      await using shared = await open();
      const first = await shared.files.list(folder(''), { limit: 1 });
      assert.deepEqual(
        first.entries.map(({ path }) => path),
        ['a.txt'],
      );
      const { cursor = '' } = first;
      const second = await shared.files.list(folder(''), { limit: 1, cursor });
      assert.deepEqual(
        second.entries.map(({ path }) => path),
        ['sub/'],
      );
      await assert.rejects(shared.files.list(folder(''), { cursor: CURSORS.open(cursor) ?? '' }), {
        code: 'invalid-cursor',
      });
    });

    it('has no trash and no versions', async () => {
      await using shared = await open();
      await assert.rejects(shared.files.listTrash(), ofKind('unsupported'));
      await assert.rejects(shared.files.listVersions(file('a.txt')), ofKind('unsupported'));
    });
  });
}

describe('Errors of shared files', () => {
  const ROOT = 'clients/Acme "quoted"/2024/';
  const messageFor = (code: ConstructorParameters<typeof StoreError>[0], message: string, root = ROOT) =>
    messageOf(share(failing(new StoreError(code, message)), root).stat(file('a')));
  const q = (text: string) => JSON.stringify(text);

  it('name relative paths', async () => {
    const message = `The file ${q(`${ROOT}x/a "b".txt`)} exists. Set "overwrite": true to replace it.`;
    assert.equal(
      await messageFor('already-exists', message),
      'The file "x/a \\"b\\".txt" exists. Set "overwrite": true to replace it.',
    );
  });

  it('name nothing above the folder', async () => {
    for (const path of [ROOT, ROOT.slice(0, -1), 'clients/', 'clients', 'clients/Acme "quoted"']) {
      const message = await messageFor('wrong-kind', `The path ${q(path)} is not a folder.`);
      assert.doesNotMatch(message, /clients|Acme|2024/, path);
    }
    const long = `${'long '.repeat(40)}/`;
    const shortened = await messageFor('not-found', `The file ${q(`${long.slice(0, 120)}…`)} does not exist.`, long);
    assert.doesNotMatch(shortened, /long /);
  });

  it('say nothing about the store and its settings', async () => {
    const codes = ['store-unreachable', 'wrong-secret-key', 'denied', 'rejected-by-store', 'outcome-unknown'] as const;
    for (const code of codes) {
      const message = await messageFor(code, 'The bucket "private-bucket" of S3_BUCKET is gone: clients/Acme.');
      assert.doesNotMatch(message, /bucket|S3|Acme/i, code);
    }
  });

  it('keep their code, kind and delay', async () => {
    const error = new StoreError('store-busy', 'Busy.', { retryAfter: 7 });
    await assert.rejects(share(failing(error), ROOT).stat(file('a')), {
      code: 'store-busy',
      kind: 'unavailable',
      retryAfter: 7,
    });
  });

  it('report a path that is too long without its hidden part', async () => {
    const root = `${'x'.repeat(1000)}/`;
    const message = await messageOf(share(failing(new Error('unreachable')), root).stat(file('a'.repeat(100))));
    assert.match(message, /is too long/);
    assert.doesNotMatch(message, /x|1024/);
  });
});
