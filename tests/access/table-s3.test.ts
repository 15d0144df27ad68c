import { s3 } from '../contract/backend.ts';
import { accessTable } from './table.ts';

/** Who may do what is found out before the store is asked: two ways are enough where each change takes many requests. */
const EVERYWHERE = new Set(['List a folder', 'Fetch a file', 'Upload a new file']);

accessTable(s3, {
  crosses: (way, { title }) => way === 'nothing' || way === 'a session' || EVERYWHERE.has(title),
});
