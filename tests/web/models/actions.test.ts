import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import type { ActionDefinition, ActionModels } from '../../../web/src/features/actions/action-list.ts';
import { createActions } from '../../../web/src/features/actions/actions.ts';
import { visitorActions } from '../../../web/src/features/visit/visitor-actions.ts';
import { createPermissions, type Permission } from '../../../web/src/model/account/permissions.ts';
import { createClipboard } from '../../../web/src/model/clipboard.ts';
import { createFolderScene } from './folder-scene.ts';
import { createEnglish } from './languages.ts';
import { testAccount } from './test-account.ts';

interface SceneOptions {
  readonly rights: readonly Permission[];
  readonly hasTrash?: boolean;
  readonly hasLinks?: boolean;
  readonly hasDav?: boolean;
  /** The user who signed in last; null for an anonymous user. */
  readonly user?: string | null;
  /** The selected entries of the folder `docs/`. */
  readonly selected?: readonly string[];
  readonly definitions?: readonly ActionDefinition[];
}

const ALL = ['read', 'write', 'manage'] as const;

/** Returns the labels of the menu for the selection, or for the folder if nothing is selected. */
async function menuOf(options: SceneOptions): Promise<string> {
  const { rights, selected = [], hasTrash = true, hasLinks = true, hasDav = true, user = 'ann' } = options;
  const files = { 'docs/plan.txt': 'plan', 'docs/photo.jpg': 'light', 'docs/sub/x.txt': 'x' };
  const { folder, selection } = await createFolderScene({ files, shown: 'docs/' });
  const permissions = createPermissions({
    isReadOnly: false,
    isControlled: true,
    isAnonymous: () => user === null,
    shown: folder.path,
  });
  permissions.update({ prefix: 'docs/', rights: [...rights] });
  selection.set(selected.map((name) => `docs/${name}`));
  const account = testAccount({ signInCount: signal(0), reauthenticate: async () => true });
  const none = signal([]);
  // The other models are only for running actions.
  const models = {
    account: { ...account, lastUsername: signal(user) },
    changes: { undos: none, redos: none },
    clipboard: createClipboard(),
    dav: hasDav ? { isServed: true } : null,
    folder,
    hasTrash,
    language: await createEnglish(),
    links: hasLinks ? {} : null,
    permissions,
    places: null,
    selection,
  } as unknown as ActionModels;
  const unopened = () => assert.fail('No menu opens.');
  const menus = { shown: signal(null), open: unopened, close: unopened, onNotLoaded: unopened };
  const actions = createActions(models, menus, options.definitions);
  return actions
    .menuGroups()
    .map((group) => group.map(({ label }) => label).join(', '))
    .join(' | ');
}

type Cases = readonly (readonly [title: string, options: SceneOptions, menu: string])[];

const SHOW = 'Select all, Refresh, Go to parent folder, Details, Command palette, Go to folder…, Recent';
const SHOW_TO_USERS = `${SHOW}, Trash, Shared links, Connect a client`;
const ADD = 'Upload files, Upload folder';
const ANYONE = { user: null, hasLinks: false, hasTrash: false, hasDav: false } as const;
const VISITOR = { ...ANYONE, definitions: visitorActions(null) } as const;

describe('The menu of a folder', () => {
  const cases: Cases = [
    ['all permissions', { rights: ALL }, `New folder, New text file, ${ADD} | Share | ${SHOW_TO_USERS}`],
    ['read and write', { rights: ['read', 'write'] }, `New folder, ${ADD} | Share | ${SHOW_TO_USERS}`],
    ['read', { rights: ['read'] }, `Share | ${SHOW_TO_USERS}`],
    ['write', { rights: ['write'] }, `${ADD} | Share | ${SHOW_TO_USERS}`],
    ['no permission', { rights: [] }, SHOW_TO_USERS],
    ['read, for anonymous users', { rights: ['read'], user: null }, `${SHOW}, Connect a client`],
    ['read, without trash, links and WebDAV', { ...ANYONE, user: 'ann', rights: ['read'] }, SHOW],
    ['read, by a link', { ...VISITOR, rights: ['read'] }, `Download all, ${SHOW}`],
    [
      'read and write, by a link',
      { ...VISITOR, rights: ['read', 'write'] },
      `New folder, ${ADD} | Download all, ${SHOW}`,
    ],
    [
      'read and write, by a link that asks for the sender',
      { ...VISITOR, rights: ['read', 'write'], definitions: visitorActions({ askSender: true }) },
      `${ADD} | Download all, ${SHOW}`,
    ],
  ];
  for (const [title, options, menu] of cases) {
    it(`has what the user may do with ${title}`, async () => assert.equal(await menuOf(options), menu));
  }
});

describe('The menu of a selection', () => {
  const one = ['plan.txt'];
  const cases: Cases = [
    [
      'all permissions',
      { rights: ALL, selected: one },
      'Open, Download, Copy link, Share | Cut, Copy | Rename, Move to…, Copy to…, Move to trash, Delete permanently | Details',
    ],
    [
      'all permissions for several items',
      { rights: ALL, selected: ['plan.txt', 'sub/'] },
      'Download, Copy link | Cut, Copy | Rename, Move to…, Copy to…, Move to trash, Delete permanently | Details',
    ],
    [
      'all permissions without a trash',
      { rights: ALL, selected: one, hasTrash: false },
      'Open, Download, Copy link, Share | Cut, Copy | Rename, Move to…, Copy to…, Delete | Details',
    ],
    [
      'read and manage for a folder, whose rename would write',
      { rights: ['read', 'manage'], selected: ['sub/'] },
      'Open, Download, Copy link, Share | Cut, Copy | Move to…, Copy to…, Move to trash, Delete permanently | Details',
    ],
    ['read', { rights: ['read'], selected: one }, 'Open, Download, Copy link, Share | Copy | Copy to… | Details'],
    [
      'read, for anonymous users',
      { rights: ['read'], user: null, selected: one },
      'Open, Download, Copy link | Details',
    ],
    ['read, by a link', { ...VISITOR, rights: ['read'], selected: one }, 'Open, Download, Copy link | Details'],
  ];
  for (const [title, options, menu] of cases) {
    it(`has what the user may do with ${title}`, async () => assert.equal(await menuOf(options), menu));
  }
});
