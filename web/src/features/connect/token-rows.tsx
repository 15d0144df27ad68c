import { useRef, useState } from 'preact/hooks';
import { accessOf, hasExpired } from '../../model/app-tokens/token-form.ts';
import { type AppToken, listAppTokens, revokeAppToken } from '../../platform/service/app-tokens.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import type { ConnectText } from '../../platform/text/text.ts';
import { Button } from '../../ui/button.tsx';
import { useDialogs } from '../../ui/dialogs.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { Confirmation } from '../dialogs/confirmation.tsx';
import { Name } from '../folder/entry-parts.tsx';
import { useMessages, useService } from '../models.ts';
import { useConnectText } from './connect-text.ts';

/** The app tokens of the user, behind a line with their number. */
export function AppTokens() {
  const service = useService();
  const text = useConnectText();
  const language = useFullLanguage();
  const [changes, setChanges] = useState(0);
  const last = useRef<readonly AppToken[] | undefined>(undefined);
  const loaded = useLoaded((signal) => listAppTokens(service, signal), [changes]);
  // The previous tokens stay visible while they are read again.
  if (loaded.state === 'ready') last.current = loaded.value;
  const revoke = useRevocation(() => setChanges(changes + 1));
  if (loaded.state === 'failed') {
    return (
      <div role="alert">
        <p>{`${text.token.loadFailed} ${language.reasonOf(asServiceError(loaded.error))}`}</p>
        <Button onClick={loaded.retry}>{language.text.controls.retry}</Button>
      </div>
    );
  }
  const tokens = last.current ?? [];
  if (tokens.length === 0) return null;
  return (
    <details class="tokens">
      <summary>
        <Icon name="chevron-right" />
        {text.tokens({ count: tokens.length })}
      </summary>
      <ul>
        {tokens.map((token) => (
          <TokenRow key={token.id} token={token} onRevoke={() => void revoke(token)} />
        ))}
      </ul>
    </details>
  );
}

function TokenRow({ token, onRevoke }: { token: AppToken; onRevoke: () => void }) {
  const text = useConnectText();
  const language = useFullLanguage();
  return (
    <li class={hasExpired(token, new Date()) ? 'inactive' : ''}>
      <Icon name="key" />
      <div>
        <span>
          <Name of={token.name} />
        </span>
        <span class="secondary numbers">{describeToken(token, text, language).join(' · ')}</span>
      </div>
      <Button onClick={onRevoke} label={`${language.text.links.revoke}: ${shownName(token.name)}`}>
        {language.text.links.revoke}
      </Button>
    </li>
  );
}

/** Returns what a token allows, when it expires, and when it was last used and created. */
function describeToken(
  token: AppToken,
  { all, token: text }: ConnectText['connect'],
  language: FullLanguage,
): string[] {
  const { formats } = language;
  const { links } = language.text;
  const { folder, permissions, createdAt, lastUsedAt, expiresAt } = token;
  const timeOf = (time: string) => formats.time(new Date(time));
  const access = accessOf(token);
  const expiry = expiresAt === undefined ? links.neverExpires : links.expires({ time: timeOf(expiresAt) });
  return [
    access ? text.kinds[access] : permissions.join(', '),
    folder === '' ? all : text.inFolder({ folder: folder.slice(0, -1) }),
    hasExpired(token, new Date()) ? links.inactive.expired : expiry,
    lastUsedAt === undefined ? text.neverUsed : links.lastUsed({ time: timeOf(lastUsedAt) }),
    text.createdAt({ time: timeOf(createdAt) }),
  ];
}

/** Returns a function that asks for confirmation, and revokes a token. It never throws. */
function useRevocation(onRevoked: () => void) {
  const service = useService();
  const dialogs = useDialogs();
  const messages = useMessages();
  const language = useFullLanguage();
  const { token: text } = useConnectText();
  return async ({ id, name }: AppToken): Promise<void> => {
    const isConfirmed = await dialogs.open<true>((close) => (
      <Confirmation
        title={text.revokeTitle({ name })}
        details={[text.revokeHint, language.text.changes.cannotUndo]}
        verb={language.text.links.revoke}
        close={close}
      />
    ));
    if (!isConfirmed) return;
    try {
      await revokeAppToken(service, id);
    } catch (thrown) {
      const error = asServiceError(thrown);
      // It was revoked in the meantime.
      if (!error.isNotFound) {
        messages.show({ kind: 'error', text: text.notRevoked({ name }), detail: language.reasonOf(error) });
        return;
      }
    }
    onRevoked();
    messages.show({ kind: 'done', text: text.revoked({ name }) });
  };
}
