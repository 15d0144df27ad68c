import assert from 'node:assert/strict';
import { signal } from '@preact/signals';
import { createPermissions, type Permission } from '../../../web/src/model/account/permissions.ts';
import { createChangeModel } from '../../../web/src/model/changes/change-model.ts';
import type { Operation } from '../../../web/src/model/changes/operations.ts';
import type { Draft } from '../../../web/src/model/changes/rename.ts';
import { type Clipboard, createClipboard } from '../../../web/src/model/clipboard.ts';
import { createFolder, type Folder } from '../../../web/src/model/folder/folder.ts';
import { createMessages } from '../../../web/src/model/messages.ts';
import { createPathLocks } from '../../../web/src/model/path-locks.ts';
import type { Prompts } from '../../../web/src/model/prompts.ts';
import { createSelection } from '../../../web/src/model/selection.ts';
import type { ChangeService } from '../../../web/src/platform/service/file-operations.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { createEnglish, withoutIsolates } from './languages.ts';
import { createMemoryService, type RecordChange } from './upload-service.ts';

export interface ChangeSceneOptions {
  /** The stored files by path; a path that ends with "/" is an empty folder. */
  readonly files: Readonly<Record<string, string>>;
  /** Replaces members of the service. */
  readonly override?:
    | ((service: ChangeService, files: Map<string, string>, record: RecordChange) => Partial<ChangeService>)
    | undefined;
  /** The permissions in the root folder. Default: all. */
  readonly rights?: readonly Permission[];
  /** The user's answers. Default: confirms deletions, and fails the test for all other questions. */
  readonly prompts?: Partial<Prompts>;
  /** Whether the service has a trash. Default: false. */
  readonly hasTrash?: boolean;
}

/** The changes of a page on a service in memory. */
export interface ChangeScene extends Omit<ReturnType<typeof createChangeModel>, 'rename' | 'remove' | 'moveToTrash'> {
  readonly folder: Folder;
  readonly clipboard: Clipboard;
  readonly renaming: { readonly value: string | null };
  readonly draft: { readonly value: Draft | null };
  readonly running: { readonly value: readonly Operation[] };
  readonly undos: { readonly value: readonly (() => void)[] };
  readonly redos: { readonly value: readonly (() => void)[] };
  readonly stored: Map<string, string>;
  rename(path: string, newName: string): Promise<void>;
  remove(...paths: readonly string[]): Promise<void>;
  moveToTrash(...paths: readonly string[]): Promise<void>;
  /** The paths of the shown entries. */
  shown(): readonly string[];
  /** The shown messages, without the Unicode characters that isolate names. */
  shownTexts(): readonly string[];
  /** Presses the button of the newest message that has this label. */
  press(label: string): void;
  /** Dismisses all messages. */
  dismissAll(): void;
  /** Reads the shown folder again. */
  refresh(): Promise<void>;
  /** Opens a folder, and resolves when it is shown. */
  open(path: string): Promise<void>;
}

export async function createChangeScene({
  files,
  override = () => ({}),
  prompts = {},
  hasTrash = false,
  rights,
}: ChangeSceneOptions): Promise<ChangeScene> {
  const memory = createMemoryService(files);
  const service: ChangeService = { ...memory.service, ...override(memory.service, memory.files, memory.record) };
  const language = await createEnglish();
  const order = signal({ by: 'name', descending: false } as const);
  const compareNames = signal(language.value.formats.compareNames);
  const folder = createFolder(service, { order, compareNames }, { path: '', response: await memory.service.list('') });
  const messages = createMessages();
  const state = {
    running: signal<readonly Operation[]>([]),
    renaming: signal<string | null>(null),
    draft: signal<Draft | null>(null),
    undos: signal<readonly (() => void)[]>([]),
    redos: signal<readonly (() => void)[]>([]),
    trashChanges: signal(0),
  };
  const clipboard = createClipboard();
  const permissions = createPermissions({
    isReadOnly: false,
    isControlled: rights !== undefined,
    isAnonymous: () => false,
    shown: folder.path,
  });
  if (rights) permissions.update({ prefix: '', rights: [...rights] });
  const model = createChangeModel(
    {
      service,
      folder,
      clipboard,
      messages,
      language,
      hasTrash,
      selection: createSelection(folder),
      pathLocks: createPathLocks(),
      permissions,
    },
    state,
    {
      promptName: () => assert.fail('Unexpected question for a name.'),
      promptNames: () => assert.fail('Unexpected question for names.'),
      confirmDelete: async () => true,
      confirmDeleteVersions: async () => true,
      resolveConflict: ({ name }) => assert.fail(`Unexpected question about "${name}".`),
      pickFolder: () => assert.fail('Unexpected question for a folder.'),
      ...prompts,
    },
  );
  const entryAt = (path: string): Entry =>
    folder.entryOf(path) ?? assert.fail(`The folder shows no "${path}", but ${shown().join(', ')}.`);
  const shown = () => folder.entries.value.map(({ path }) => path);
  return {
    ...model,
    ...state,
    folder,
    clipboard,
    stored: memory.files,
    rename: (path, newName) => model.rename(entryAt(path), newName),
    remove: (...paths) => model.remove(paths.map(entryAt)),
    moveToTrash: (...paths) => model.moveToTrash(paths.map(entryAt)),
    shown,
    shownTexts: () =>
      messages.shown.value.map(({ text, detail }) =>
        withoutIsolates(detail === undefined ? text : `${text} ${detail}`),
      ),
    press(label) {
      const message = messages.shown.value.findLast(({ action }) => action?.label === label);
      assert.ok(message?.action, `A message has the button ${label}.`);
      messages.dismiss(message.id);
      message.action.run();
    },
    dismissAll() {
      for (const { id } of messages.shown.value) messages.dismiss(id);
    },
    refresh: () => folder.refresh(),
    async open(path) {
      folder.open(path);
      await settle();
    },
  };
}

/** Waits until all promises that need no timer are settled. */
export async function settle(): Promise<void> {
  for (let ticks = 0; ticks < 20; ticks++) await new Promise(setImmediate);
}
