import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import {
  emptyForm,
  formOf,
  type LinkForm,
  linkChangesOf,
  newLinkOf,
  problemsOf,
} from '../../../web/src/model/links/link-form.ts';
import { createLinkList } from '../../../web/src/model/links/link-list.ts';
import { createLinks } from '../../../web/src/model/links/links.ts';
import { revokeLinks } from '../../../web/src/model/links/revoke.ts';
import { readSharedPaths } from '../../../web/src/model/links/shared-paths.ts';
import type { Link } from '../../../web/src/platform/service/links.ts';
import type { SendOptions, Service } from '../../../web/src/platform/service/service.ts';
import { createChangeScene } from './change-scene.ts';
import { refusal } from './service-errors.ts';

const NOW = new Date(2026, 10, 26, 12);

function linkOf(id: string, path: string, settings: Partial<Link> = {}): Link {
  return {
    id,
    path,
    type: path === '' || path.endsWith('/') ? 'folder' : 'file',
    permissions: ['read'],
    createdAt: '2026-11-01T00:00:00.000Z',
    hasPassword: false,
    downloads: 0,
    uploads: 0,
    askSender: false,
    active: true,
    ...settings,
  };
}

const filled = (fields: Partial<LinkForm>): LinkForm => ({ ...emptyForm('view'), ...fields });

describe('The form of a link', () => {
  it('sends only what the user has set', () => {
    assert.deepEqual(newLinkOf(emptyForm('view'), NOW), { permissions: ['read'] });
    const form = filled({
      access: 'both',
      label: '  For Ann ',
      expiry: 'days7',
      hasPassword: true,
      password: ' pass ',
      maxDownloads: '10',
      maxUploads: '٣٠',
      maxSize: '1,5',
      asksSender: true,
    });
    assert.deepEqual(newLinkOf(form, NOW), {
      permissions: ['read', 'write'],
      label: 'For Ann',
      expiresAt: new Date(2026, 11, 3, 12).toISOString(),
      password: ' pass ',
      maxDownloads: 10,
      maxUploads: 30,
      maxUploadBytes: 1_500_000,
      askSender: true,
    });
  });

  it('omits the limits that do not belong to what visitors can do', () => {
    const limits = { maxDownloads: '1', maxUploads: '2', maxSize: '3', asksSender: true };
    assert.deepEqual(newLinkOf(filled({ access: 'view', ...limits }), NOW), { permissions: ['read'], maxDownloads: 1 });
    assert.deepEqual(newLinkOf(filled({ access: 'upload', ...limits }), NOW), {
      permissions: ['write'],
      maxUploads: 2,
      maxUploadBytes: 3_000_000,
      askSender: true,
    });
    const wrong = { maxDownloads: 'x', maxUploads: 'x', maxSize: 'x' };
    assert.deepEqual(problemsOf(filled({ access: 'view', ...wrong }), NOW), { maxDownloads: 'count' });
    assert.deepEqual(problemsOf(filled({ access: 'upload', ...wrong }), NOW), { maxUploads: 'count', maxSize: 'size' });
  });

  it('ends a link at the end of its last day, in the time zone of the user', () => {
    const on = (date: string) => filled({ expiry: 'date', date });
    const end = new Date(2026, 10, 26, 23, 59, 59, 999).toISOString();
    assert.deepEqual(newLinkOf(on('2026-11-26'), NOW), { permissions: ['read'], expiresAt: end });
    assert.deepEqual(problemsOf(on('2026-11-26'), NOW), {});
    for (const date of ['2026-11-25', '', 'tomorrow', '12026-11-26', '2026-11']) {
      assert.deepEqual(problemsOf(on(date), NOW), { date: 'past' }, date);
    }
    assert.deepEqual(problemsOf(filled({ expiry: 'never', date: '2020-01-01' }), NOW), {});
  });

  it('accepts numbers as users write them, and rejects all other texts', () => {
    const countOf = (maxDownloads: string) => newLinkOf(filled({ maxDownloads }), NOW).maxDownloads;
    const sizeOf = (maxSize: string) => newLinkOf(filled({ access: 'upload', maxSize }), NOW).maxUploadBytes;
    const texts = ['1', ' 20 ', '۱۲', '１２', '9007199254740991'];
    assert.deepEqual(texts.map(countOf), [1, 20, 12, 12, Number.MAX_SAFE_INTEGER]);
    assert.deepEqual(
      ['1', '0.000001', '2.5', '٢٫٥', '1.0005'].map(sizeOf),
      [1_000_000, 1, 2_500_000, 2_500_000, 1_000_500],
    );
    for (const maxDownloads of ['0', '-1', '1.5', '1e3', '1,000', 'ten', '9007199254740992']) {
      assert.deepEqual(problemsOf(filled({ maxDownloads }), NOW), { maxDownloads: 'count' }, maxDownloads);
    }
    for (const maxSize of ['0', '-1', '1,000', '1.000', '1e3', '0.0000001', '1.', '99999999999999']) {
      assert.deepEqual(problemsOf(filled({ access: 'both', maxSize }), NOW), { maxSize: 'size' }, maxSize);
    }
  });

  it('requires the password of a new link, and keeps that of an existing one', () => {
    assert.deepEqual(problemsOf(filled({ hasPassword: true }), NOW), { password: 'missing' });
    const before = formOf(linkOf('1', 'a.txt', { hasPassword: true }));
    assert.deepEqual(problemsOf(before, NOW, before), {});
    assert.deepEqual(linkChangesOf(before, before, NOW), {});
    assert.deepEqual(linkChangesOf({ ...before, password: 'new' }, before, NOW), { password: 'new' });
    assert.deepEqual(linkChangesOf({ ...before, hasPassword: false }, before, NOW), { password: null });
    const open = formOf(linkOf('1', 'a.txt'));
    assert.deepEqual(problemsOf({ ...open, hasPassword: true }, NOW, open), { password: 'missing' });
    assert.deepEqual(linkChangesOf({ ...open, password: 'typed, then switched off' }, open, NOW), {});
  });

  it('changes only what the user has changed, and removes what was emptied', () => {
    const link = linkOf('1', 'Photos/', {
      permissions: ['read', 'write'],
      label: 'Old',
      expiresAt: '2026-11-20T08:15:00.000Z',
      maxDownloads: 5,
      maxUploads: 6,
      maxUploadBytes: 1_234_000,
      askSender: true,
    });
    const before = formOf(link);
    assert.equal(before.maxSize, '1.2340');
    assert.deepEqual(problemsOf(before, NOW, before), {}, 'An expired link can be changed.');
    assert.deepEqual(linkChangesOf(before, before, NOW), {});
    assert.deepEqual(linkChangesOf({ ...before, label: '', maxDownloads: '7', maxSize: '' }, before, NOW), {
      label: null,
      maxDownloads: 7,
      maxUploadBytes: null,
    });
    assert.deepEqual(linkChangesOf({ ...before, expiry: 'never' }, before, NOW), { expiresAt: null });
    assert.deepEqual(linkChangesOf({ ...before, access: 'view' }, before, NOW), {
      permissions: ['read'],
      maxUploads: null,
      maxUploadBytes: null,
      askSender: false,
    });
  });
});

/** A service with links, the newest first, in pages of two. Records the requests. */
function createLinkService(links: readonly Link[], failing: readonly string[] = []) {
  const stored = [...links];
  const requests: string[] = [];
  const send = async (endpoint: string, { method = 'GET', query }: SendOptions = {}): Promise<unknown> => {
    const parameters = new URLSearchParams(query);
    requests.push(`${method} ${endpoint} ${parameters.get('below') ?? ''}`.trim());
    const [, , id = ''] = endpoint.split('/');
    if (method === 'DELETE') {
      if (failing.includes(id)) throw refusal('database-unavailable', 'Down.');
      const index = stored.findIndex((link) => link.id === id);
      if (index < 0) throw refusal('not-found', `There is no link "${id}".`);
      stored.splice(index, 1);
      return {};
    }
    const start = stored.findIndex((link) => link.id === parameters.get('cursor')) + 1;
    const page = stored.slice(start, start + 2);
    return { links: page, cursor: start + 2 < stored.length ? page.at(-1)?.id : undefined };
  };
  return { service: { send: send as Service['send'] }, requests, stored };
}

const signal = new AbortController().signal;

describe('The badges of shared items', () => {
  it('are on the folder and its entries with an active link, and not on what is deeper', async () => {
    const { service, requests } = createLinkService([
      linkOf('1', 'Photos/'),
      linkOf('2', 'Photos/a.jpg'),
      linkOf('3', 'Photos/a.jpg', { active: false, inactiveReason: 'expired' }),
      linkOf('4', 'Photos/b.jpg', { active: false, inactiveReason: 'permission' }),
      linkOf('5', 'Photos/2026/'),
      linkOf('6', 'Photos/2026/c.jpg'),
    ]);
    const shared = await readSharedPaths(service, 'Photos/', signal);
    assert.deepEqual([...shared], ['Photos/', 'Photos/a.jpg', 'Photos/2026/']);
    assert.deepEqual(requests, Array(3).fill('GET -/links Photos/'));
  });

  it('name the root as the API does, and need at most ten requests', async () => {
    const many = Array.from({ length: 50 }, (_, index) => linkOf(String(index), `Deep/${index}`));
    const { service, requests } = createLinkService([linkOf('root', ''), ...many]);
    assert.deepEqual([...(await readSharedPaths(service, '', signal))], ['']);
    assert.deepEqual(requests, Array(10).fill('GET -/links /'));
  });
});

describe('The list of links', () => {
  it('has the links to a folder and everything in it, page by page', async () => {
    const { service, requests } = createLinkService(['a', 'b', 'c'].map((name) => linkOf(name, `Team/${name}`)));
    const list = createLinkList(service, 'Team/');
    await list.refresh();
    assert.deepEqual([list.items.value.map(({ id }) => id), list.isComplete.value], [['a', 'b'], false]);
    await list.loadMore();
    assert.deepEqual([list.items.value.map(({ id }) => id), list.isComplete.value], [['a', 'b', 'c'], true]);
    assert.deepEqual(requests, Array(2).fill('GET -/links Team/'));
  });
});

describe('Revoking links', () => {
  // The timers of messages and progress take no real time.
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('counts a link that is gone as revoked, and explains which links remain', async () => {
    const all = [linkOf('a', 'a.txt'), linkOf('b', ''), linkOf('c', 'c/'), linkOf('gone', 'd.txt')];
    const { service, stored } = createLinkService(all.slice(0, 3), ['b']);
    const scene = await createChangeScene({ files: {}, override: () => service });
    const links = createLinks();
    const revoked = await revokeLinks(scene.context, links, all);
    assert.deepEqual(revoked.map(({ id }) => id).toSorted(), ['a', 'c', 'gone']);
    assert.deepEqual(
      stored.map(({ id }) => id),
      ['b'],
    );
    assert.deepEqual(scene.shownTexts(), [
      '3 links revoked',
      'Couldn’t revoke the link to “Files” The server isn’t available right now. Try again in a moment.',
    ]);
    assert.equal(links.changes.value, 1);
    scene.dismissAll();
    assert.deepEqual(await revokeLinks(scene.context, links, [linkOf('b', '')]), []);
    assert.equal(links.changes.value, 1, 'Nothing has changed.');
  });
});
