import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import { createPermissions, type Permission } from '../../../web/src/model/account/permissions.ts';
import { withReauth } from '../../../web/src/model/account/with-reauth.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';
import { testAccount } from './test-account.ts';
import { createMemoryService } from './upload-service.ts';

/** Sends one request of each kind. */
const REQUESTS: Readonly<Record<keyof Service, (service: Service, ending: AbortSignal) => Promise<unknown>>> = {
  list: (service, ending) => service.list('photos/', { signal: ending }),
  upload: (service, ending) =>
    service.upload({
      folder: 'photos/',
      name: 'new.txt',
      file: new File(['new'], 'new.txt'),
      replace: false,
      signal: ending,
      onProgress() {},
    }),
  createFolder: (service, ending) => service.createFolder('photos/2026/', ending),
  read: (service, ending) => service.read('photos/cat.txt', { from: 0, length: 4, signal: ending }),
  check: (service, ending) => service.check('photos/cat.txt', ending),
  send: (service, ending) => service.send('-/trash', { method: 'DELETE', signal: ending }),
};
const KINDS = Object.keys(REQUESTS) as readonly (keyof Service)[];
const CHANGES: readonly (keyof Service)[] = ['upload', 'createFolder', 'send'];

const expired = () => refusal('sign-in-required', 'Sign in first.');
const forbidden = () => refusal('permission-denied', 'You may not change this.');

interface SceneOptions {
  /** Returns the error with which a request fails; undefined if it succeeds. */
  readonly fail: (kind: keyof Service, attempt: number) => Error | undefined | Promise<Error | undefined>;
  /** Whether the user signs in when the dialog opens. */
  readonly signsIn?: () => boolean | Promise<boolean>;
  /** The user who is signed in, according to the service. */
  readonly whoIs?: () => string | null | undefined;
  /** The permissions in the listing. */
  readonly granted?: () => readonly Permission[];
}

/** The service of a page on which Ann is signed in and "photos/" is shown. */
function createScene({ fail, signsIn = () => true, whoIs = () => 'ann', granted = () => ALL }: SceneOptions) {
  const memory = createMemoryService({ 'photos/cat.txt': 'meow' }).service;
  const sent: (keyof Service)[] = [];
  const send = async <Response>(kind: keyof Service, response: () => Promise<Response>): Promise<Response> => {
    sent.push(kind);
    const error = await fail(kind, sent.filter((each) => each === kind).length);
    if (error) throw error;
    return response();
  };
  const service: Service = {
    list: (folder) => send('list', async () => ({ ...(await memory.list(folder)), rights: [...granted()] })),
    upload: (upload) => send('upload', () => memory.upload(upload)),
    createFolder: (path) => send('createFolder', () => memory.createFolder(path)),
    read: () => send('read', async () => new Uint8Array()),
    check: () => send('check', async () => {}),
    send: <Body>() => send('send', async () => ({}) as Body),
  };
  const signInCount = signal(0);
  let dialogs = 0;
  let openDialog: Promise<boolean> | undefined;
  const showDialog = async () => {
    dialogs++;
    const isSignedIn = await signsIn();
    if (isSignedIn) signInCount.value++;
    openDialog = undefined;
    return isSignedIn;
  };
  const reauthenticate = () => {
    openDialog ??= showDialog();
    return openDialog;
  };
  let expiries = 0;
  const expire = () => {
    expiries++;
  };
  const account = testAccount({ signInCount, reauthenticate, expire });
  const shown = signal('photos/');
  const permissions = createPermissions({ isReadOnly: false, isControlled: true, isAnonymous: () => false, shown });
  let activeChanges = 0;
  const onChange = (by: number) => {
    activeChanges += by;
  };
  return {
    service: withReauth(service, { account, permissions, shown, onChange, readUser: async () => whoIs() }),
    permissions,
    signInCount,
    sent,
    dialogs: () => dialogs,
    expiries: () => expiries,
    activeChanges: () => activeChanges,
  };
}

const ALL: readonly Permission[] = ['read', 'write', 'manage'];
const { signal: never } = new AbortController();
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('A request that requires signing in', () => {
  it('is sent again after the user signed in', async () => {
    for (const kind of KINDS) {
      const scene = createScene({ fail: (_kind, attempt) => (attempt === 1 ? expired() : undefined) });
      await REQUESTS[kind](scene.service, never);
      assert.deepEqual([scene.sent, scene.dialogs(), scene.activeChanges()], [[kind, kind], 1, 0], kind);
    }
  });

  it('fails with the message of the service when the user declines', async () => {
    for (const kind of KINDS) {
      const scene = createScene({ fail: expired, signsIn: () => false });
      await assert.rejects(REQUESTS[kind](scene.service, never), { status: 401, message: 'Sign in first.' }, kind);
      assert.deepEqual([scene.sent, scene.activeChanges()], [[kind], 0], kind);
    }
  });

  it('fails without a dialog when the page sends it by itself', async () => {
    const requests = [
      (service: Service) => service.list('photos/', { isBackground: true }),
      (service: Service) => service.send('-/locks', { isBackground: true }),
    ];
    for (const request of requests) {
      const scene = createScene({ fail: expired });
      await assert.rejects(request(scene.service), { status: 401 });
      assert.deepEqual([scene.dialogs(), scene.expiries(), scene.sent.length], [0, 1, 1]);
    }
  });

  it('is sent again if the user has signed in since, also when the page sends it by itself', async () => {
    const scene = createScene({
      fail(_kind, attempt) {
        if (attempt > 1) return undefined;
        scene.signInCount.value++;
        return expired();
      },
    });
    await scene.service.list('photos/', { isBackground: true });
    assert.deepEqual([scene.dialogs(), scene.expiries(), scene.sent.length], [0, 0, 2]);
  });

  it('counts as a change in progress while the dialog is open', async () => {
    for (const kind of KINDS) {
      const { promise: response, resolve: signIn } = Promise.withResolvers<boolean>();
      const fail = (_kind: keyof Service, attempt: number) => (attempt === 1 ? expired() : undefined);
      const scene = createScene({ fail, signsIn: () => response });
      const request = REQUESTS[kind](scene.service, never);
      await settled();
      assert.equal(scene.activeChanges(), CHANGES.includes(kind) ? 1 : 0, kind);
      signIn(true);
      await request;
      assert.equal(scene.activeChanges(), 0, kind);
    }
  });

  it('ends with the reason of its signal while the dialog is open', async () => {
    for (const kind of KINDS) {
      const { promise: response, resolve: signIn } = Promise.withResolvers<boolean>();
      const scene = createScene({ fail: expired, signsIn: () => response });
      const leaving = new AbortController();
      const request = REQUESTS[kind](scene.service, leaving.signal);
      await settled();
      leaving.abort();
      await assert.rejects(request, { name: 'AbortError' }, kind);
      signIn(true);
      await settled();
      assert.deepEqual([scene.sent, scene.activeChanges()], [[kind], 0], kind);
    }
  });

  it('is sent again without a dialog when the user signed in since it was sent', async () => {
    const { promise: refused, resolve: refuse } = Promise.withResolvers<Error>();
    const scene = createScene({ fail: (_kind, attempt) => (attempt === 1 ? refused : undefined) });
    const request = REQUESTS.check(scene.service, never);
    scene.signInCount.value++;
    refuse(expired());
    await request;
    assert.deepEqual([scene.sent, scene.dialogs()], [['check', 'check'], 0]);
  });

  it('shares one dialog with other requests, and shows another when the session expires later', async () => {
    let isExpired = true;
    const scene = createScene({
      fail: () => (isExpired ? expired() : undefined),
      signsIn() {
        isExpired = false;
        return true;
      },
    });
    await Promise.all(KINDS.map((kind) => REQUESTS[kind](scene.service, never)));
    assert.equal(scene.dialogs(), 1);
    isExpired = true;
    await REQUESTS.read(scene.service, never);
    assert.equal(scene.dialogs(), 2);
  });
});

describe('An upload without a response', () => {
  const lost = () => new ServiceError(0, '');
  const failFirst = (_kind: keyof Service, attempt: number) => (attempt === 1 ? lost() : undefined);

  it('is sent again after signing in when the session has expired', async () => {
    const scene = createScene({ fail: failFirst, whoIs: () => null });
    await REQUESTS.upload(scene.service, never);
    assert.deepEqual([scene.sent, scene.dialogs()], [['upload', 'upload'], 1]);
  });

  it('fails when the user is signed in, or the service does not respond', async () => {
    for (const name of ['ann', undefined]) {
      const scene = createScene({ fail: failFirst, whoIs: () => name });
      await assert.rejects(REQUESTS.upload(scene.service, never), { status: 0 });
      assert.deepEqual([scene.sent, scene.dialogs()], [['upload'], 0]);
    }
  });
});

describe('A request without permission', () => {
  it('fails with the message of the service, and a change refreshes the permissions', async () => {
    for (const kind of CHANGES) {
      const { promise: listed, resolve: list } = Promise.withResolvers<void>();
      const scene = createScene({
        fail: (requested) => (requested === kind ? forbidden() : undefined),
        granted() {
          list();
          return ['read'];
        },
      });
      scene.permissions.update({ prefix: 'photos/', rights: [...ALL] });
      await assert.rejects(REQUESTS[kind](scene.service, never), { status: 403, message: forbidden().message }, kind);
      await listed;
      await settled();
      assert.deepEqual(scene.sent, [kind, 'list'], kind);
      assert.deepEqual([scene.permissions.allows('read'), scene.permissions.allows('manage')], [true, false], kind);
    }
  });

  it('to list a folder removes all permissions in that folder', async () => {
    const scene = createScene({ fail: forbidden });
    scene.permissions.update({ prefix: 'photos/', rights: [...ALL] });
    await assert.rejects(REQUESTS.list(scene.service, never), { status: 403 });
    assert.deepEqual([scene.permissions.allows('read'), scene.permissions.allows('write')], [false, false]);
    assert.deepEqual(scene.sent, ['list']);
  });

  it('refreshes the permissions once when many changes fail together', async () => {
    const scene = createScene({ fail: (kind) => (kind === 'list' ? undefined : forbidden()) });
    await Promise.allSettled(CHANGES.map((kind) => REQUESTS[kind](scene.service, never)));
    await settled();
    assert.deepEqual(
      scene.sent.filter((kind) => kind === 'list'),
      ['list'],
    );
  });
});
