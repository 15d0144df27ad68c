import type { ReadonlySignal, Signal } from '@preact/signals';
import type { Permissions } from '../../model/account/permissions.ts';
import type { Changes } from '../../model/changes/changes.ts';
import type { Folder } from '../../model/folder/folder.ts';
import type { Messages } from '../../model/messages.ts';
import type { Selection } from '../../model/selection.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import type { Router } from '../../platform/router.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';
import type { Rejection } from './drop-target.ts';

/**
 * Drags entries of the page and accepts files of other programs. An element with `data-drop-folder` is a drop target
 * for both; elsewhere, files go into the shown folder. A `draggable` element with `data-drag-path` can be dragged,
 * together with the selection if it is selected.
 */
export interface Dragging {
  /** The kind of the dragged items; null without a drag over the page. */
  readonly kind: ReadonlySignal<DragKind | null>;
  /** The destination folder of a drop; null if no folder accepts it. */
  readonly target: ReadonlySignal<string | null>;
  /** Why a drop would fail here; null if it would succeed, and for dragged entries that are not over a folder. */
  readonly rejection: ReadonlySignal<Rejection | null>;
  /** The number of dragged entries. */
  readonly count: ReadonlySignal<number>;
  readonly isCopy: ReadonlySignal<boolean>;
}

/** `Dragging` for the code that handles the events. */
export interface DragState extends Dragging {
  readonly kind: Signal<DragKind | null>;
  readonly target: Signal<string | null>;
  readonly rejection: Signal<Rejection | null>;
  readonly count: Signal<number>;
  readonly isCopy: Signal<boolean>;
}

export type DragKind = 'entries' | 'files';

/** The models that a drag changes. */
export interface DraggingOptions {
  readonly folder: Folder;
  readonly router: Router;
  readonly selection: Selection;
  readonly changes: Changes;
  readonly uploads: Uploads;
  readonly messages: Messages;
  readonly urls: Urls;
  readonly language: ReadonlySignal<Language>;
  readonly permissions: Permissions;
}
