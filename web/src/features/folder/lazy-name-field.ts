import { deferred } from '../../ui/deferred.tsx';

export const NameField = deferred(async () => (await import('./name-field.tsx')).NameField);
