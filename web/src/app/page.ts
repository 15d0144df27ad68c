import type { ReadonlySignal } from '@preact/signals';
import type { Actions } from '../features/actions/actions.ts';
import type { Dragging } from '../features/dragging/dragging.ts';
import type { Details } from '../features/models.ts';
import type { Account } from '../model/account/account.ts';
import type { Permissions } from '../model/account/permissions.ts';
import type { Changes } from '../model/changes/changes.ts';
import type { Clipboard } from '../model/clipboard.ts';
import type { Folder } from '../model/folder/folder.ts';
import type { Messages } from '../model/messages.ts';
import type { Selection } from '../model/selection.ts';
import type { Uploads } from '../model/uploads/uploads.ts';
import type { Preferences } from '../platform/preferences.ts';
import type { Router } from '../platform/router.ts';
import type { Service } from '../platform/service/service.ts';
import type { Urls } from '../platform/service/urls.ts';
import type { Language } from '../platform/text/language.ts';
import type { Dialogs } from '../ui/dialogs.ts';
import type { Menus } from '../ui/menus.ts';

/** All models of the page. Only `app/` knows all of them. */
export interface Page {
  /** Null without access control. */
  readonly account: Account | null;
  readonly actions: Actions;
  readonly changes: Changes;
  readonly clipboard: Clipboard;
  readonly details: Details;
  readonly dialogs: Dialogs;
  readonly dragging: Dragging;
  readonly folder: Folder;
  readonly language: ReadonlySignal<Language>;
  readonly menus: Menus;
  readonly messages: Messages;
  readonly permissions: Permissions;
  readonly preferences: Preferences;
  readonly router: Router;
  readonly selection: Selection;
  readonly service: Service;
  readonly uploads: Uploads;
  readonly urls: Urls;
}
