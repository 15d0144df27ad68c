import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import type { VisitorLink } from '../../../src/http/schemas.ts';
import { createPermissions } from '../../../web/src/model/account/permissions.ts';
import { createMessages } from '../../../web/src/model/messages.ts';
import { createVisitQuestions } from '../../../web/src/model/visit/questions.ts';
import { findSenderProblem } from '../../../web/src/model/visit/sender.ts';
import { createVisit, createVisitState, type VisitState } from '../../../web/src/model/visit/visit.ts';
import { withLink } from '../../../web/src/model/visit/with-link.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import type { Upload } from '../../../web/src/platform/service/upload.ts';
import { createEnglish, withoutIsolates } from './languages.ts';
import { refusal } from './service-errors.ts';
import { createMemoryService } from './upload-service.ts';

const FOLDER: VisitorLink = { type: 'folder', name: 'Alps', permissions: ['read'], askSender: false };
const REQUEST: VisitorLink = { ...FOLDER, name: 'Invoices', permissions: ['write'] };

interface SceneOptions {
  readonly link?: VisitorLink;
  readonly sender?: string;
  readonly override?: (service: Service) => Partial<Service>;
  readonly askPassword?: () => Promise<boolean>;
  /** Returns the name that the visitor enters when asked; undefined if the visitor cancels. */
  readonly askSender?: () => string | undefined;
}

/** The service of a visitor's page. */
function createScene(options: SceneOptions = {}) {
  const { link = FOLDER, sender = '', override, askPassword = async () => false, askSender } = options;
  const memory = createMemoryService({ 'photo.jpg': 'light', 'deep/er.txt': 'down' }).service;
  const uploads: Upload[] = [];
  const base: Service = {
    ...memory,
    async upload(upload) {
      uploads.push(upload);
      return { path: upload.folder + upload.name, etag: '' };
    },
    send: async <Body>() => ({ success: true, link }) as Body,
  };
  const state = createVisitState(link, null, sender);
  const permissions = createPermissions({
    isReadOnly: false,
    isControlled: true,
    isAnonymous: () => true,
    shown: signal(''),
  });
  const service = withLink(
    { ...base, ...override?.(base) },
    {
      state,
      permissions,
      askPassword,
      async askSender() {
        const entered = findSenderProblem(state.sender.value) === undefined ? state.sender.value : askSender?.();
        state.sender.value = entered ?? '';
        return entered !== undefined;
      },
    },
  );
  return { service, state, permissions, uploads };
}

const upload = (given: Partial<Upload> = {}): Upload => ({
  folder: '',
  name: 'a.txt',
  file: new File(['a'], 'a.txt'),
  replace: false,
  signal: new AbortController().signal,
  onProgress() {},
  ...given,
});

const hasCode = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

describe('The service of a visitor', () => {
  it('lists the folder of a link that allows reading', async () => {
    const { service } = createScene();
    const { entries } = await service.list('');
    assert.deepEqual(
      entries.map(({ path }) => path),
      ['photo.jpg', 'deep/'],
    );
  });

  it('never lists the folder of a file request', async () => {
    const { service } = createScene({
      link: REQUEST,
      override: () => ({ list: () => assert.fail('The service is not asked.') }),
    });
    assert.deepEqual(await service.list(''), { success: true, prefix: '', entries: [], rights: ['write'] });
  });

  it('uploads without a condition to a file request, so that a taken name is not revealed', async () => {
    const request = createScene({ link: REQUEST });
    await request.service.upload(upload());
    assert.equal(request.uploads[0]?.replace, true);
    const folder = createScene({ link: { ...FOLDER, permissions: ['read', 'write'] } });
    await folder.service.upload(upload());
    assert.equal(folder.uploads[0]?.replace, false);
  });

  it('sends the name of the sender if the link asks for it', async () => {
    const link = { ...REQUEST, askSender: true };
    const known = createScene({ link, sender: 'Ann' });
    await known.service.upload(upload());
    assert.equal(known.uploads[0]?.sender, 'Ann');
    const asked = createScene({ link, askSender: () => 'Bob' });
    await asked.service.upload(upload());
    assert.equal(asked.uploads[0]?.sender, 'Bob');
    const other = createScene({ link: REQUEST, sender: 'Ann' });
    await other.service.upload(upload());
    assert.equal(other.uploads[0]?.sender, undefined);
  });

  it('fails an upload whose sender the visitor does not enter', async () => {
    const { service, uploads } = createScene({ link: { ...REQUEST, askSender: true } });
    await assert.rejects(service.upload(upload()), hasCode('sender-required'));
    assert.deepEqual(uploads, []);
  });

  it('subtracts uploads and new folders from those that are left', async () => {
    const { service, state } = createScene({ link: { ...REQUEST, uploadsLeft: 3 } });
    await service.upload(upload());
    assert.equal(state.link.value?.uploadsLeft, 2);
    await service.createFolder('new/');
    assert.equal(state.link.value?.uploadsLeft, 1);
  });

  it('sends a request again after the visitor entered the password', async () => {
    let isUnlocked = false;
    const { service } = createScene({
      override: (base) => ({
        list: async (folder) =>
          isUnlocked ? base.list(folder) : Promise.reject(refusal('link-password-required', '')),
      }),
      askPassword: async () => {
        isUnlocked = true;
        return true;
      },
    });
    assert.equal((await service.list('')).entries.length, 2);
  });

  it('fails a request if the visitor enters no password', async () => {
    const { service } = createScene({
      override: () => ({ list: async () => Promise.reject(refusal('link-password-required', '')) }),
    });
    await assert.rejects(service.list(''), hasCode('link-password-required'));
  });

  it('records the end of the link', async () => {
    const { service, state } = createScene({
      override: () => ({ upload: async () => Promise.reject(refusal('link-not-found', '')) }),
      link: REQUEST,
    });
    await assert.rejects(service.upload(upload()), hasCode('link-not-found'));
    assert.equal(state.hasEnded.value, true);
  });

  it('explains that the other uploads of the page exhausted the limit, because the link then seems not to exist', async () => {
    const stored = Promise.withResolvers<void>();
    const { service, state } = createScene({
      link: { ...REQUEST, uploadsLeft: 1 },
      override: (base) => ({
        async upload(given) {
          if (given.name !== 'first.txt') throw refusal('link-not-found', '');
          await stored.promise;
          return base.upload(given);
        },
      }),
    });
    const first = service.upload(upload({ name: 'first.txt' }));
    await assert.rejects(service.upload(upload()), hasCode('link-exhausted'), 'while the last upload is in progress');
    stored.resolve();
    await first;
    await assert.rejects(service.upload(upload()), hasCode('link-exhausted'), 'after the last upload');
    assert.equal(state.hasEnded.value, false);
  });

  it('detects the end of the link when content is unavailable, because responses to HEAD have no code', async () => {
    const { service, state } = createScene({
      override: () => ({
        check: async () => Promise.reject(new ServiceError(404, '')),
        send: async () => Promise.reject(refusal('link-not-found', '')),
      }),
    });
    await assert.rejects(service.check('photo.jpg', new AbortController().signal));
    assert.equal(state.hasEnded.value, true);
  });

  it('takes the permissions of each folder from its listing', async () => {
    const { service, permissions } = createScene({
      override: (base) => ({
        list: async (folder) => ({ ...(await base.list(folder)), rights: folder === '' ? ['read'] : [] }),
      }),
    });
    await service.list('');
    await service.list('deep/');
    assert.equal(permissions.allowsIn('', 'read'), true);
    assert.equal(permissions.allowsIn('', 'write'), false);
    assert.equal(permissions.allowsIn('deep/', 'read'), false);
  });
});

describe('The questions of a visit', () => {
  function createQuestions(options: { isBusy?: boolean; sender?: string } = {}) {
    const asked: string[] = [];
    const answers: ((answer: true | null) => void)[] = [];
    const inputs: (() => void)[] = [];
    let reloads = 0;
    const ask = (question: string) => () => {
      asked.push(question);
      const { promise, resolve } = Promise.withResolvers<true | null>();
      answers.push(resolve);
      return promise;
    };
    const questions = createVisitQuestions({
      state: createVisitState(REQUEST, null, options.sender ?? ''),
      prompts: { enterPassword: ask('password'), enterSender: ask('sender') },
      onNotLoaded() {},
      isBusy: () => options.isBusy ?? true,
      reload: () => void reloads++,
      onNextInput: (callback) => void inputs.push(callback),
    });
    return { questions, asked, answers, inputs, reloads: () => reloads };
  }

  it('are asked once for all requests that wait', async () => {
    const { questions, asked, answers } = createQuestions();
    const all = Promise.all([questions.askPassword(), questions.askPassword(), questions.askSender()]);
    await new Promise(setImmediate);
    assert.deepEqual(asked, ['password', 'sender']);
    for (const answer of answers) answer(true);
    assert.deepEqual(await all, [true, true, true]);
  });

  it('are not repeated before the next input if the visitor cancels', async () => {
    const { questions, asked, answers, inputs } = createQuestions();
    const first = questions.askPassword();
    await new Promise(setImmediate);
    answers[0]?.(null);
    assert.equal(await first, false);
    assert.equal(await questions.askPassword(), false);
    assert.deepEqual(asked, ['password']);
    inputs[0]?.();
    void questions.askPassword();
    await new Promise(setImmediate);
    assert.deepEqual(asked, ['password', 'password']);
  });

  it('reload the page instead of asking for the password if nothing is in progress', async () => {
    const { questions, asked, reloads } = createQuestions({ isBusy: false });
    assert.equal(await questions.askPassword(), false);
    assert.deepEqual([asked, reloads()], [[], 1]);
  });

  it('are not asked for a sender that is known', async () => {
    const { questions, asked } = createQuestions({ sender: 'Ann' });
    assert.equal(await questions.askSender(), true);
    assert.deepEqual(asked, []);
  });
});

describe('The name of a sender', () => {
  it('must be a name of a folder of at most 100 characters', () => {
    for (const [sender, expected] of [
      ['Ann', undefined],
      ['Ann & Bob 🎉', undefined],
      ['', 'empty'],
      ['a/b', 'slash'],
      ['..', 'dots'],
      ['a\nb', 'control'],
      ['x'.repeat(100), undefined],
      ['x'.repeat(101), 'long'],
      ['写'.repeat(90), 'long'],
    ] as const) {
      assert.equal(findSenderProblem(sender), expected, sender);
    }
  });
});

describe('A visit', () => {
  const problems = {
    password: refusal('link-password-required', ''),
    'not-found': refusal('link-not-found', ''),
    failed: refusal('overloaded', ''),
  };

  async function createVisitOf(state: VisitState, left: () => number | undefined = () => undefined) {
    const messages = createMessages();
    const downloads: string[] = [];
    const send = async <Body>() => {
      const { value } = state.link;
      const downloadsLeft = left();
      return { success: true, link: { ...value, ...(downloadsLeft !== undefined && { downloadsLeft }) } } as Body;
    };
    const visit = createVisit(state, {
      service: { send },
      messages,
      language: await createEnglish(),
      startDownload: (url) => void downloads.push(url),
    });
    return { visit, messages, downloads };
  }
  const opened = (link: VisitorLink) => createVisitOf(createVisitState(link, null, ''));

  it('shows the folder, the file, the file request, or the reason why the link is unavailable', async () => {
    const kindOf = async (link: VisitorLink) => (await opened(link)).visit.kind;
    assert.equal(await kindOf(FOLDER), 'folder');
    assert.equal(await kindOf({ ...FOLDER, permissions: ['read', 'write'] }), 'folder');
    assert.equal(await kindOf(REQUEST), 'request');
    assert.equal(await kindOf({ ...FOLDER, type: 'file' }), 'file');
    for (const [kind, problem] of Object.entries(problems)) {
      const { visit } = await createVisitOf(createVisitState(null, problem, ''));
      assert.equal(visit.kind, kind);
    }
  });

  it('describes the conditions of the link', async () => {
    const conditionsOf = async (link: VisitorLink) => withoutIsolates((await opened(link)).visit.conditions.value);
    assert.equal(await conditionsOf(FOLDER), '');
    const expiresAt = '2031-05-12T12:00:00.000Z';
    assert.equal(
      await conditionsOf({ ...FOLDER, expiresAt, downloadsLeft: 1 }),
      'Available until May 12, 2031 · 1 download left',
    );
    assert.equal(await conditionsOf({ ...FOLDER, downloadsLeft: 0 }), 'No downloads left');
    assert.equal(
      await conditionsOf({ ...FOLDER, uploadsLeft: 2, downloadsLeft: 3 }),
      '2 uploads left · 3 downloads left',
    );
    assert.equal(await conditionsOf({ ...FOLDER, uploadsLeft: 0 }), 'This link accepts no more files');
  });

  it('counts downloads only for a link with a limit', async () => {
    assert.equal((await opened(FOLDER)).visit.countsDownloads, false);
    assert.equal((await opened({ ...FOLDER, downloadsLeft: 3 })).visit.countsDownloads, true);
  });

  it('downloads while the link allows that, and then explains why it does not', async () => {
    let left = 1;
    const state = createVisitState({ ...FOLDER, downloadsLeft: 1 }, null, '');
    const { visit, messages, downloads } = await createVisitOf(state, () => left);
    await visit.download('/file/a');
    assert.deepEqual([downloads, visit.link.value?.downloadsLeft], [['/file/a'], 0]);
    left = 0;
    await visit.download('/file/a');
    assert.equal(downloads.length, 1);
    assert.deepEqual(
      messages.shown.value.map(({ text, detail }) => [text, detail]),
      [['Couldn’t download', 'This link has reached its limit.']],
    );
  });
});
