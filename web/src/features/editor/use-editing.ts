import { redo, undo } from '@codemirror/commands';
import { openSearchPanel } from '@codemirror/search';
import { Text } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import type { Permissions } from '../../model/account/permissions.ts';
import { createDrafts } from '../../model/editing/drafts.ts';
import { EditedFile, type OtherVersion, type SaveResult } from '../../model/editing/edited-file.ts';
import type { MergedText } from '../../model/editing/merge.ts';
import { type LineEnding, NEW_FORMAT } from '../../model/editing/text-file.ts';
import { type Folder, refreshUnlessLarge } from '../../model/folder/folder.ts';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import { findFile } from '../../platform/service/file-contents.ts';
import type { Service } from '../../platform/service/service.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { type Dialogs, useDialogs } from '../../ui/dialogs.tsx';
import { keysOf } from '../../ui/keyboard.ts';
import { type Details, useAccount, useDetails, useFolder, usePermissions, useService, useVisit } from '../models.ts';
import { runJob } from '../viewer/worker/run-job.ts';
import { type BaseVersion, countConflicts, forgetMerge, goToNextConflict, showMerged } from './conflicts.ts';
import type { LoadedText } from './load-text.ts';
import { askAboutVersion, askBeforeClosing } from './questions.tsx';
import { type CursorPosition, createTextView, type TextView } from './text-view.ts';

/** A message above the text. */
export type EditorNotice =
  /** Unsaved changes of an earlier visit are shown. */
  | { readonly kind: 'restored' }
  /** Another client changed the file. */
  | { readonly kind: 'changed'; readonly user: string | undefined; readonly etag: string | undefined }
  | { readonly kind: 'gone' }
  | { readonly kind: 'text'; readonly text: string };

export type SaveState =
  | { readonly kind: 'unchanged' | 'saved' | 'dirty' | 'saving' }
  | { readonly kind: 'failed'; readonly error: ServiceError };

/** Why the text is read-only. */
type Lock = 'foreign' | 'denied';

interface EditingOptions {
  readonly path: string;
  readonly loaded: LoadedText & { readonly kind: 'text' };
  readonly close: () => void;
}

interface EditingModels {
  readonly account: Account | null;
  readonly details: Details;
  readonly dialogs: Dialogs;
  readonly folder: Folder;
  readonly language: FullLanguage;
  readonly mayWrite: boolean;
  readonly service: Service;
}

/** Creates the state of an editor, once for each component. */
export function useEditing(options: EditingOptions): Editing {
  const permissions = usePermissions();
  const visit = useVisit();
  const models = {
    account: useAccount(),
    details: useDetails(),
    dialogs: useDialogs(),
    folder: useFolder(),
    language: useFullLanguage(),
    service: useService(),
    mayWrite: visit === null && mayReplace(permissions, options.path),
  };
  return useMemo(() => new Editing(options, models), []);
}

/** Replacing a file requires the permission to manage it. */
const mayReplace = (permissions: Permissions, path: string) => permissions.allowsIn(parentOf(path), 'manage');

/** Milliseconds after which a draft is kept, while the user types. */
const DRAFT_DELAY_MS = 500;

/** The preference for line wrapping, until the page is loaded again. */
const isWrapped = signal(true);

/** A file in the editor: its text, what is saved of it, and what other clients do with it. */
export class Editing {
  readonly path: Signal<string>;
  readonly state: Signal<SaveState> = signal({ kind: 'unchanged' });
  readonly isDirty = signal(false);
  readonly lock: Signal<Lock | null>;
  readonly notice: Signal<EditorNotice | null> = signal(null);
  /** The number of conflicts that the user must decide. */
  readonly conflicts = signal(0);
  readonly cursor: Signal<CursorPosition> = signal({ line: 1, column: 1 });
  readonly lineEnding: Signal<LineEnding>;
  readonly encoding: Signal<string>;
  readonly isWrapped: ReadonlySignal<boolean> = isWrapped;
  readonly canConvert: boolean;
  readonly #options: EditingOptions;
  readonly #models: EditingModels;
  readonly #file: EditedFile;
  #text: TextView | undefined;
  /** The text of the version that is stored, in the form of CodeMirror. */
  #base: Text;
  #draftTimer: ReturnType<typeof setTimeout> | undefined;
  #hasSaved = false;
  #isAsking = false;
  /** The changes that arrived while a request to save was in progress: one of them can be its own. */
  #received: FeedChange[] = [];

  constructor(options: EditingOptions, models: EditingModels) {
    this.#options = options;
    this.#models = models;
    const { path, loaded } = options;
    const { decoded, isForeign, etag, contentType } = loaded;
    const drafts = createDrafts(sessionStorageIfAllowed(), models.account?.username.peek() ?? '');
    this.#file = new EditedFile({ service: models.service, drafts, path, etag, contentType, ...decoded });
    this.#base = textOf(decoded.text);
    this.path = signal(path);
    this.canConvert = models.mayWrite;
    this.lock = signal(models.mayWrite ? (isForeign ? 'foreign' : null) : isForeign ? 'foreign' : 'denied');
    this.lineEnding = signal(decoded.format.lineEnding);
    this.encoding = signal(isForeign ? '' : decoded.format.hasMark ? 'UTF-8 BOM' : 'UTF-8');
  }

  /** Creates the text in its element. */
  mount = (parent: HTMLElement | null): void => {
    if (!parent || this.#text) return;
    const { language } = this.#models;
    const draft = this.lock.peek() ? undefined : this.#file.readDraft();
    const isRestored = draft !== undefined && draft.text !== this.#file.base;
    if (isRestored) {
      this.#file.rebase(draft);
      this.#base = textOf(draft.base);
      this.notice.value = { kind: 'restored' };
    }
    this.#text = createTextView({
      parent,
      name: nameOf(this.path.peek()),
      text: isRestored ? draft.text : this.#file.base,
      isReadOnly: this.lock.peek() !== null,
      isWrapped: isWrapped.peek(),
      language,
      onChange: (base) => this.#onChange(base),
      onMove: (position) => {
        this.cursor.value = position;
      },
      onSave: () => void this.save(),
    });
    this.#update();
  };

  /** Follows the changes of other clients, and keeps drafts. Returns a function that ends it. */
  start(): () => void {
    const { details, folder } = this.#models;
    const onFeed = (change: FeedChange | undefined) => void this.#receive(change).catch(() => {});
    const keep = () => this.#keepDraft();
    const onUnload = (event: BeforeUnloadEvent) => {
      keep();
      if (this.isDirty.peek()) event.preventDefault();
    };
    // The dialog is open now.
    this.#view.focus();
    details.feedListeners.add(onFeed);
    window.addEventListener('beforeunload', onUnload);
    window.addEventListener('pagehide', keep);
    document.addEventListener('visibilitychange', keep);
    return () => {
      details.feedListeners.delete(onFeed);
      window.removeEventListener('beforeunload', onUnload);
      window.removeEventListener('pagehide', keep);
      document.removeEventListener('visibilitychange', keep);
      clearTimeout(this.#draftTimer);
      this.#text?.view.destroy();
      if (this.#hasSaved) refreshUnlessLarge(folder);
    };
  }

  /** Handles a key outside of the text. */
  handleKey(event: KeyboardEvent): void {
    if (keysOf(event) !== 'mod+s') return;
    event.preventDefault();
    void this.save();
  }

  /** Saves the text. Returns whether it is saved. */
  save = async (): Promise<boolean> => {
    if (this.lock.peek() || this.state.peek().kind === 'saving') return false;
    if (this.conflicts.peek() > 0) {
      this.nextConflict();
      return false;
    }
    if (!this.isDirty.peek()) return true;
    return this.#store((text) => this.#file.save(text));
  };

  /** Closes the editor. Asks about unsaved changes first. */
  leave = (): void => void this.#leave();

  undo = (): void => {
    undo(this.#view);
    this.#view.focus();
  };

  redo = (): void => {
    redo(this.#view);
    this.#view.focus();
  };

  find = (): void => void openSearchPanel(this.#view);

  nextConflict = (): void => goToNextConflict(this.#view);

  toggleWrap = (): void => {
    isWrapped.value = !isWrapped.peek();
    this.#text?.setWrapped(isWrapped.peek());
  };

  /** Allows to change a text that is not in UTF-8. Saving stores it in UTF-8. */
  convert = (): void => {
    this.#file.format = { ...NEW_FORMAT, lineEnding: this.lineEnding.peek() };
    this.encoding.value = 'UTF-8';
    this.lock.value = null;
    this.#text?.setReadOnly(false);
    this.#view.focus();
  };

  dismissNotice = (): void => {
    this.notice.value = null;
    this.#view.focus();
  };

  /** Returns from a draft to the version that is stored. */
  discardDraft = (): void => {
    this.notice.value = null;
    void this.#showStored();
  };

  /** Shows the version of another client: in place of an unchanged text; otherwise asks what to do. */
  review = async (): Promise<void> => {
    if (!this.isDirty.peek()) return this.#showStored();
    const theirs = await this.#readOther();
    if (theirs) await this.#resolve(theirs);
  };

  get #view(): EditorView {
    if (!this.#text) throw new Error('The text is not shown yet.');
    return this.#text.view;
  }

  #onChange(base: BaseVersion | undefined): void {
    if (base) {
      this.#file.rebase(base);
      this.#base = textOf(base.base);
    }
    this.#update();
    clearTimeout(this.#draftTimer);
    this.#draftTimer = setTimeout(() => this.#keepDraft(), DRAFT_DELAY_MS);
  }

  /** Updates what depends on the text. */
  #update(): void {
    const { state } = this.#view;
    this.conflicts.value = countConflicts(state);
    this.isDirty.value = !state.doc.eq(this.#base);
    const { kind } = this.state.peek();
    if (kind === 'saving') return;
    if (this.isDirty.peek()) this.state.value = kind === 'failed' ? this.state.peek() : { kind: 'dirty' };
    else this.state.value = { kind: this.#hasSaved ? 'saved' : 'unchanged' };
  }

  #keepDraft(): void {
    clearTimeout(this.#draftTimer);
    // Text with undecided conflicts is neither version. The draft from before the merge stays.
    if (!this.#text || this.lock.peek() || this.conflicts.peek() > 0) return;
    this.#file.keepDraft(this.#view.state.doc.toString());
  }

  async #store(write: (text: string) => Promise<SaveResult>): Promise<boolean> {
    const { doc } = this.#view.state;
    this.state.value = { kind: 'saving' };
    const result = await write(doc.toString());
    const isSaved = result.kind === 'saved';
    if (isSaved) {
      this.#base = doc;
      this.#hasSaved = true;
      this.path.value = this.#file.path;
      this.notice.value = null;
      forgetMerge(this.#view);
    }
    this.state.value = result.kind === 'failed' ? result : { kind: 'dirty' };
    this.#update();
    const received = this.#received.splice(0);
    for (const change of received) await this.#receive(change);
    return result.kind === 'conflict' ? this.#resolve(result.theirs) : isSaved;
  }

  /** Asks what to do with the version of another client. Returns whether the text is saved. */
  async #resolve(theirs: OtherVersion): Promise<boolean> {
    if (this.#isAsking) return false;
    this.#isAsking = true;
    const answer = await askAboutVersion(this.#models.dialogs, nameOf(this.path.peek()), theirs);
    this.#isAsking = false;
    const { text } = this.#models.language;
    switch (answer) {
      case 'merge':
        if (theirs.kind === 'text') await this.#merge(theirs);
        return false;
      case 'overwrite':
        return this.#store((mine) => this.#file.overwrite(mine, theirs));
      case 'copy': {
        const isSaved = await this.#store((mine) => this.#file.saveCopy(mine));
        const name = shownName(nameOf(this.path.peek()));
        if (isSaved) this.notice.value = { kind: 'text', text: text.editor.savedCopy({ name }) };
        return isSaved;
      }
      case null:
        this.#view.focus();
        return false;
    }
  }

  async #merge(theirs: OtherVersion & { readonly kind: 'text' }): Promise<void> {
    const { text } = this.#models.language;
    // If the merge is not completed, this is what the user has written.
    this.#keepDraft();
    const { etag, base } = this.#file;
    const mine = this.#view.state.doc;
    let merged: MergedText;
    try {
      const texts = { base, mine: mine.toString(), theirs: theirs.text };
      merged = await runJob({ kind: 'merge', ...texts }, new AbortController().signal);
    } catch {
      this.notice.value = { kind: 'text', text: text.editor.mergeFailed };
      return;
    }
    // The user has typed meanwhile.
    if (this.#view.state.doc !== mine) return this.#merge(theirs);
    this.notice.value = { kind: 'text', text: text.editor.merged };
    showMerged(this.#view, { merged, before: { etag, base }, after: { etag: theirs.etag, base: theirs.text } });
    if (merged.conflicts.length === 0) this.#view.focus();
  }

  async #showStored(): Promise<void> {
    const theirs = await this.#readOther();
    if (theirs?.kind !== 'text') {
      if (theirs)
        this.notice.value = { kind: theirs.kind === 'missing' ? 'gone' : 'changed', user: undefined, etag: undefined };
      return;
    }
    const { etag, base } = this.#file;
    this.notice.value = null;
    showMerged(this.#view, {
      merged: { text: theirs.text, conflicts: [], incoming: [] },
      before: { etag, base },
      after: { etag: theirs.etag, base: theirs.text },
    });
    this.#view.focus();
  }

  async #readOther(): Promise<OtherVersion | undefined> {
    try {
      return await this.#file.readOther();
    } catch {
      const { text } = this.#models.language;
      this.notice.value = { kind: 'text', text: text.previews.openFailed };
      return undefined;
    }
  }

  async #leave(): Promise<void> {
    if (!this.isDirty.peek() && this.conflicts.peek() === 0) return this.#options.close();
    if (this.#isAsking) return;
    this.#isAsking = true;
    const answer = await askBeforeClosing(this.#models.dialogs, nameOf(this.path.peek()));
    this.#isAsking = false;
    if (answer === 'save' && (await this.save())) this.#options.close();
    if (answer !== 'discard') return;
    clearTimeout(this.#draftTimer);
    this.#file.keepDraft(this.#file.base);
    this.isDirty.value = false;
    this.#options.close();
  }

  /** Handles a change of the feed; undefined if changes can be missing. */
  async #receive(change: FeedChange | undefined): Promise<void> {
    if (this.state.peek().kind === 'saving') {
      if (change) this.#received.push(change);
      return;
    }
    const { path } = this.#file;
    if (!change) return this.#compare(undefined);
    const { type, from, user, etag } = change;
    const isMove = type === 'file.moved' || type === 'folder.moved';
    if (isMove && from !== undefined && (from === path || (from.endsWith('/') && path.startsWith(from)))) {
      this.#file.path = change.path + path.slice(from.length);
      if (from === path && etag !== undefined) this.#file.etag = etag;
      this.path.value = this.#file.path;
      const { text } = this.#models.language;
      this.notice.value = { kind: 'text', text: text.editor.renamed({ name: shownName(nameOf(this.#file.path)) }) };
    } else if (type.endsWith('.deleted')) {
      if (path === change.path || (change.path.endsWith('/') && path.startsWith(change.path))) {
        this.notice.value = { kind: 'gone' };
      }
    } else if (change.path === path && etag === undefined) await this.#compare(user);
    else if (change.path === path && etag !== this.#file.etag) this.notice.value = { kind: 'changed', user, etag };
  }

  /** Finds out whether the file is still the version that the user edits. */
  async #compare(user: string | undefined): Promise<void> {
    const entry = await findFile(this.#models.service, this.#file.path);
    if (!entry) this.notice.value = { kind: 'gone' };
    else if (entry.etag !== this.#file.etag) this.notice.value = { kind: 'changed', user, etag: entry.etag };
  }
}

/** Returns a text as CodeMirror holds it. */
const textOf = (text: string): Text => Text.of(text.split('\n'));

/** Returns the session storage; undefined if the browser denies access to it. */
function sessionStorageIfAllowed(): Storage | undefined {
  try {
    return window.sessionStorage;
  } catch {
    return undefined;
  }
}
