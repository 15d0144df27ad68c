import type { ReadonlySignal } from '@preact/signals';
import type { Account } from '../../model/account/account.ts';
import type { Permissions } from '../../model/account/permissions.ts';
import type { Changes } from '../../model/changes/changes.ts';
import type { Clipboard } from '../../model/clipboard.ts';
import type { Details } from '../../model/details.ts';
import type { Folder } from '../../model/folder/folder.ts';
import type { Messages } from '../../model/messages.ts';
import type { Selection } from '../../model/selection.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import type { Router } from '../../platform/router.ts';
import type { Service } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';

/** The models that actions read and change. */
export interface ActionModels {
  readonly account: Account | null;
  readonly changes: Changes;
  readonly clipboard: Clipboard;
  readonly details: Details;
  readonly folder: Folder;
  readonly language: ReadonlySignal<Language>;
  readonly messages: Messages;
  readonly permissions: Permissions;
  readonly router: Router;
  readonly selection: Selection;
  readonly service: Service;
  readonly uploads: Uploads;
  readonly urls: Urls;
}
