import { deferred } from '../../ui/deferred.tsx';
import { useMessages } from '../models.ts';

const ShownMessages = deferred(async () => (await import('./shown-messages.tsx')).ShownMessages);

/** The visible messages and the texts for screen readers. */
export function MessageList() {
  const messages = useMessages();
  return (
    <>
      <ShownMessages />
      <p class="visually-hidden" role="status">
        {messages.announced.value}
      </p>
      <p class="visually-hidden" role="alert">
        {messages.announcedError.value}
      </p>
    </>
  );
}
