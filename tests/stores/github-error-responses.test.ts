import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { file, folder, ofKind, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  bytesUpload,
  countCommits,
  filesIn,
  openEmptyRepository,
  openRepository,
  PATCH_REF,
  POST_BLOB,
  POST_TREE,
  PUT_FILE,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const replace = { replace: true };

/** Returns a check for an error of this kind whose message matches. */
function errorMatching(kind: 'denied' | 'unavailable', text: RegExp) {
  return (error: unknown) => {
    assert.ok(isStoreError(error, kind), String(error));
    assert.match(error.message, text);
    return true;
  };
}

describe('A method that a proxy does not support', () => {
  it('is reported without retries', async (t) => {
    const { store, host } = await openRepository(t);
    const unsupported = { status: 501, body: { message: 'PATCH is not supported' } };
    host.intercept(({ route }) => (route === PATCH_REF ? unsupported : undefined));
    const error = errorMatching('unavailable', /returned 501: "PATCH is not supported"/);
    await assert.rejects(store.write(file('a'), upload('1')), error);
    assert.equal(sent(host, PATCH_REF).length, 1);
  });
});

describe('A branch without write access', () => {
  const writes: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
    'a text': (store) => store.write(file('a'), upload('new')),
    bytes: (store) => store.write(file('a'), upload('\0')),
    'a large file': (store) => store.write(file('a'), bytesUpload(Buffer.alloc(100_000))),
    'a removal': (store) => store.remove(file('a')),
    'a folder': (store) => store.createFolder(folder('new')),
    'a move of a folder': (store) => requireMember(store, 'moveFolder')(folder('f'), folder('g'), replace),
  };
  const ways: Readonly<
    Record<string, { arrange: (opened: Awaited<ReturnType<typeof openRepository>>) => void; message: RegExp }>
  > = {
    'is protected': {
      arrange: ({ repository }) => repository.protect('main', 'Protected branch update failed for refs/heads/main.'),
      message: /branch main.*Protected branch update failed for refs\/heads\/main/,
    },
    'is in a repository that the token may only read': {
      arrange: ({ host }) => (host.permissions.write = false),
      message: /GITHUB_TOKEN can't write.*"Contents: read and write"/,
    },
    'is in an archived repository': { arrange: ({ repository }) => repository.archive(), message: /archived/ },
  };
  for (const [name, { arrange, message }] of Object.entries(ways)) {
    it(`rejects every change with the reason: it ${name}`, async (t) => {
      const opened = await openRepository(t, { files: { a: 'old', 'f/b': 'b' } });
      arrange(opened);
      for (const [, write] of Object.entries(writes))
        await assert.rejects(write(opened.store), errorMatching('denied', message));
      assert.equal(await countCommits(opened.repository), 1);
      assert.equal(await textOf(opened.store, 'a'), 'old');
    });
  }

  it('rejects the first commit at once, too', async (t) => {
    for (const [status, message] of [
      [422, 'Repository rule violations found'],
      [403, 'Resource not accessible by integration'],
    ] as const) {
      const { store, host } = await openEmptyRepository(t);
      host.intercept(({ route }) => (route === PUT_FILE ? { status, body: { message } } : undefined));
      await assert.rejects(store.write(file('a'), upload('a')), ofKind('denied'));
      assert.equal(sent(host, PUT_FILE).length, 1);
    }
  });

  it('rejects the first commit to a protected branch with the message of the host', async (t) => {
    const { store, repository } = await openEmptyRepository(t);
    repository.protect('main', 'Changes must be made through a pull request.');
    await assert.rejects(store.write(file('a'), upload('a')), errorMatching('denied', /through a pull request/));
  });

  it('rejects a change with an error about the invalid token', async (t) => {
    const { another } = await openRepository(t);
    await assert.rejects(
      another({ token: 'expired' }).write(file('a'), upload('a')),
      errorMatching('unavailable', /GITHUB_TOKEN/),
    );
  });

  it('rejects a change when the branch was deleted, and does not create it again', async (t) => {
    const { store, host, repository } = await openRepository(t, { branch: 'files', defaultBranch: 'main' });
    await store.write(file('a'), upload('a'));
    await repository.git('update-ref', '-d', 'refs/heads/files');
    await repository.commit({ x: 'x' }, 'Other', { branch: 'main' });
    await assert.rejects(
      store.write(file('b'), upload('b')),
      errorMatching('unavailable', /branch "files".*GITHUB_BRANCH/),
    );
    assert.equal(await repository.git('for-each-ref', '--format=%(refname)'), 'refs/heads/main');
    assert.equal(sent(host, PATCH_REF).length, 1);
  });

  it('rejects a change when the branch is deleted during the commit', async (t) => {
    const { store, host, repository } = await openRepository(t, { branch: 'files', defaultBranch: 'main' });
    await repository.commit({ x: 'x' }, 'Other', { branch: 'main' });
    host.intercept(async ({ route }) => {
      if (route === PATCH_REF) await repository.git('update-ref', '-d', 'refs/heads/files');
      return undefined;
    });
    await assert.rejects(store.write(file('b'), upload('b')), errorMatching('unavailable', /branch "files"/));
  });
});

describe('A renamed repository', () => {
  it('is written to under its new name, and the rename is logged', async (t) => {
    const { store, repository, logged } = await openRepository(t);
    await store.write(file('a'), upload('1'));
    repository.rename('renamed');
    await store.write(file('a'), upload('2'));
    assert.equal(await repository.git('show', 'main:a'), '2');
    await store.write(file('b'), bytesUpload(Buffer.alloc(100_000)));
    assert.equal(logged.filter(({ message }) => /GITHUB_REPO/.test(message)).length, 1);
  });

  it('is not requested again when its redirect has no target', async (t) => {
    const { store, host } = await openRepository(t);
    const elsewhere = { status: 307, headers: { location: `${host.apiUrl}/nowhere` }, body: { message: 'Moved' } };
    host.intercept(({ route }) => (route === POST_TREE ? elsewhere : undefined));
    await assert.rejects(store.write(file('a'), upload('1')), errorMatching('unavailable', /GITHUB_API_URL/));
    assert.ok(sent(host, POST_TREE).length <= 2, `${sent(host, POST_TREE).length} requests`);
  });
});

describe('A redirect of a write', () => {
  for (const status of [307, 308]) {
    it(`is followed with method and body within the origin: ${status}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      let redirects = 0;
      host.intercept(({ route, path }) =>
        route === POST_TREE && redirects++ === 0
          ? { status, headers: { location: `${host.apiUrl}${path}?again=1` }, body: { message: 'Moved' } }
          : undefined,
      );
      await store.write(file('a'), upload('1'));
      assert.equal(await repository.git('show', 'main:a'), '1');
      assert.deepEqual(
        sent(host, POST_TREE).map(({ query }) => query.get('again')),
        [null, '1'],
      );
    });
  }

  it('to another origin is not followed, which protects the token, and the error names that origin', async (t) => {
    const { store, host } = await openRepository(t);
    const [other] = [await openRepository(t)];
    const headers = { location: `${other.host.apiUrl}/elsewhere?secret=1` };
    host.intercept(({ route }) =>
      route === POST_TREE ? { status: 307, headers, body: { message: 'Moved' } } : undefined,
    );
    await assert.rejects(store.write(file('a'), upload('1')), (error: Error) => {
      assert.match(error.message, new RegExp(`redirects requests to "${other.host.apiUrl}/elsewhere"`));
      return true;
    });
    assert.equal(other.host.requests.length, 0);
  });

  it('fails when redirects form a loop', async (t) => {
    const { store, host } = await openRepository(t);
    host.intercept(({ method, query }) => {
      const location = `${host.apiUrl}/round?n=${Number(query.get('n') ?? 0) + 1}`;
      return method === 'POST' ? { status: 307, headers: { location }, body: { message: 'Moved' } } : undefined;
    });
    await assert.rejects(store.write(file('a'), upload('1')), errorMatching('unavailable', /redirects requests to/));
    assert.ok(sent(host).length <= 21, `${sent(host).length} requests`);
  });
});

describe('A rejected branch update', () => {
  for (const status of [409, 422]) {
    it(`is retried on the new head when another client moved the branch, for any message: ${status}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      let moves = 0;
      host.intercept(async ({ route }) => {
        if (route !== PATCH_REF || ++moves > 1) return undefined;
        await repository.commit({ theirs: 'x' });
        return { status, body: { message: 'Reference cannot be updated' } };
      });
      await store.write(file('a'), upload('1'));
      assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'a', 'theirs']);
      assert.equal(await countCommits(repository), 3);
    });

    it(`is retried when the branch did not move, then fails with the message of the host: ${status}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      host.intercept(({ route }) =>
        route === PATCH_REF ? { status, body: { message: 'Reference cannot be updated' } } : undefined,
      );
      await assert.rejects(store.write(file('a'), upload('1')), /Reference cannot be updated/);
      assert.equal(sent(host, PATCH_REF).length, 3);
      assert.equal(await countCommits(repository), 1);
    });

    it(`makes one commit when the update was applied and another client committed on top: ${status}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      host.intercept(async ({ route, body }) => {
        if (route !== PATCH_REF) return undefined;
        await repository.git('update-ref', 'refs/heads/main', (body as { sha: string }).sha);
        await repository.commit({ theirs: 'x' });
        return { status, body: { message: 'Reference cannot be updated' } };
      });
      await store.write(file('a'), upload('1'), { condition: 'absent' });
      assert.equal(await countCommits(repository), 3);
    });
  }
});

describe('A proxy in front of the host', () => {
  const html = { 'content-type': 'text/html' };
  it('is named in the error with its status, never as an internal error', async (t) => {
    const { store, host } = await openRepository(t, {}, { trust: 0, retryAfter: 1 });
    for (const [status, message] of [
      [400, /proxy.*returned 400.*GITHUB_API_URL/],
      [403, /proxy.*returned 403.*GITHUB_API_URL/],
      [407, /proxy.*username and password \(407\)/],
    ] as const) {
      host.intercept(() => ({ status, headers: html, body: '<h1>No</h1>' }));
      await assert.rejects(store.list(folder('')), errorMatching('unavailable', message));
      await assert.rejects(store.write(file('a'), upload('1')), errorMatching('unavailable', message));
    }
  });

  it('is named in the error when it rejects the size of an upload', async (t) => {
    const { store, host } = await openRepository(t);
    host.intercept(({ route }) =>
      route === POST_BLOB ? { status: 413, headers: html, body: '<h1>No</h1>' } : undefined,
    );
    for (const size of [1000, 100_000]) {
      const error = { kind: 'too-large', message: /proxy.*size \(413\)/ };
      await assert.rejects(store.write(file('a'), bytesUpload(Buffer.alloc(size))), error);
    }
  });
});

describe('A path name', () => {
  const GIT = [
    '.git',
    '.GIT',
    '.Git',
    'git~1',
    'GIT~1',
    '.git ',
    '.git.',
    '.git. .',
    '.git::$INDEX_ALLOCATION',
    'a\\.git',
    'a\\git~1\\b',
    '.g\u200cit',
    '\ufeff.git',
    '.gitkeep',
  ];
  it('reserved by git or Holdall is rejected without a request', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a', 'f/b': 'b' } });
    for (const name of GIT) {
      for (const path of [name, `x/${name}`, `${name}/x`]) {
        const bodies = [upload('x'), bytesUpload(Buffer.alloc(100_000))];
        for (const body of bodies) {
          await refused(() => store.write(file(path), body), path);
          assert.ok(body.body.destroyed);
        }
        await refused(() => store.createFolder(folder(path)), path);
        await refused(() => requireMember(store, 'copy')(file('a'), file(path), replace), path);
        await refused(() => requireMember(store, 'move')(file('a'), file(path), replace), path);
        await refused(() => requireMember(store, 'copyFolder')(folder('f'), folder(path), replace), path);
        await refused(() => requireMember(store, 'moveFolder')(folder('f'), folder(path), replace), path);
      }
    }
    assert.equal(host.requests.length, 0);
  });

  it('similar to a reserved name is accepted', async (t) => {
    const { store } = await openRepository(t, { files: { a: 'a' } }, { gatherFor: 30 });
    const names = [
      '.github',
      '.gitignore',
      '.gitattributes',
      'git',
      'x.git',
      '.git2',
      'git~2',
      '.gitx',
      'a.git ',
      '.gitkeep2',
      '.GITKEEP',
    ];
    await Promise.all(names.map((name) => store.write(file(`f/${name}`), upload(name))));
    const tree = await treeOf(store, 'f');
    assert.deepEqual(Object.keys(tree).toSorted(), names.map((name) => `f/${name}`).toSorted());
  });

  it('of a folder marker cannot be read, removed, copied or moved', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'f/.gitkeep': 'x', a: 'a' } });
    await assert.rejects(store.remove(file('f/.gitkeep')), ofKind('not-found'));
    await assert.rejects(store.stat(file('f/.gitkeep')), ofKind('not-found'));
    await assert.rejects(requireMember(store, 'copy')(file('f/.gitkeep'), file('b'), replace), ofKind('not-found'));
    await assert.rejects(requireMember(store, 'move')(file('f/.gitkeep'), file('b'), replace), ofKind('not-found'));
    assert.deepEqual(Object.keys(await filesIn(repository)), ['a', 'f/.gitkeep']);
  });
});

async function refused(write: () => Promise<unknown>, path: string): Promise<void> {
  await assert.rejects(async () => write(), ofKind('invalid-path'), path);
}
