import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { ActionDefinition } from '../features/actions/action-list.ts';
import { clickLink } from '../features/actions/download.ts';
import { loadVisitPage, type VisitPageProps } from '../features/visit/visit-page.tsx';
import { visitorActions } from '../features/visit/visitor-actions.ts';
import { createPermissions, type Permissions } from '../model/account/permissions.ts';
import { type Messages, reportLoadFailure } from '../model/messages.ts';
import { createVisitQuestions } from '../model/visit/questions.ts';
import { readSender } from '../model/visit/sender.ts';
import { createVisit, createVisitState, type Visit } from '../model/visit/visit.ts';
import { permissionsOf, withLink } from '../model/visit/with-link.ts';
import type { Embedded } from '../platform/embedded.ts';
import { isAlbum } from '../platform/file-kinds.ts';
import { onNextInput } from '../platform/next-input.ts';
import type { Preferences, View } from '../platform/preferences.ts';
import { createService, type Service } from '../platform/service/service.ts';
import type { Urls } from '../platform/service/urls.ts';
import { completeLanguage, type Language } from '../platform/text/language.ts';
import type { Dialogs } from '../ui/dialogs.tsx';

interface VisitPageOptions {
  readonly embedded: Embedded;
  readonly urls: Urls;
  /** The path of the shown folder. */
  readonly shown: ReadonlySignal<string>;
  readonly dialogs: Dialogs;
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
  readonly preferences: Preferences;
  /** Whether work is in progress that a reload would cancel. */
  readonly isBusy: () => boolean;
}

/** What a visitor's page has instead of that of a user. */
export interface OpenedLink {
  readonly visit: Visit;
  readonly account: null;
  readonly permissions: Permissions;
  readonly service: Service;
  readonly preferences: Preferences;
  readonly actions: readonly ActionDefinition[];
  /** The data of the document as the page uses it. */
  readonly embedded: Embedded;
  readonly VisitPage: ComponentType<VisitPageProps>;
}

/** Opens the share link of a visitor. Rejects if the texts or the code of the page can't be loaded. */
export async function openLink(options: VisitPageOptions): Promise<OpenedLink> {
  const { embedded, urls, shown, dialogs, messages, preferences, isBusy } = options;
  const language = await completeLanguage(options.language);
  const { response } = embedded;
  const state = createVisitState(embedded.link ?? null, response instanceof Error ? response : null, readSender());
  const permissions = createPermissions({
    isReadOnly: embedded.readOnly,
    isControlled: true,
    isAnonymous: () => true,
    shown,
  });
  permissions.update({ prefix: '', rights: permissionsOf(state) });
  if (!(response instanceof Error)) permissions.update(response);
  const { askPassword, askSender } = createVisitQuestions({
    state,
    prompts: {
      enterPassword: async () => (await import('../features/visit/password-dialog.tsx')).enterPassword(dialogs),
      enterSender: async () => (await import('../features/visit/sender-dialog.tsx')).enterSender(dialogs),
    },
    onNotLoaded: () => void reportLoadFailure({ messages, language }),
    isBusy,
    reload: () => window.location.reload(),
    onNextInput,
  });
  const service = withLink(createService(urls, { uploadPartBytes: null, storage: undefined }), {
    state,
    permissions,
    askPassword,
    askSender,
  });
  const showsPhotos = !(response instanceof Error) && isAlbum(response.entries, MIN_ALBUM_FILES);
  const visit = createVisit(state, { service, messages, language, startDownload: clickLink });
  return {
    visit,
    account: null,
    permissions,
    service,
    // The stored view does not change: the visitor can also be a user of the service.
    preferences: showsPhotos ? { ...preferences, view: signal<View>('photos') } : preferences,
    actions: visitorActions(state.link.peek()),
    embedded: {
      ...embedded,
      access: null,
      trash: null,
      keepsVersions: false,
      maxUploadSize: maxUploadSizeOf(embedded),
    },
    VisitPage: await loadVisitPage(visit.kind),
  };
}

/** A smaller folder than usual is an album: users share a few photos to show them. */
const MIN_ALBUM_FILES = 3;

/** Returns the smaller one of the limits of the service and of the link; null without a limit. */
function maxUploadSizeOf({ maxUploadSize, link }: Embedded): number | null {
  const smallest = Math.min(maxUploadSize ?? Infinity, link?.maxUploadBytes ?? Infinity);
  return Number.isFinite(smallest) ? smallest : null;
}
