//! Steps over HTTP, by the templates of the workload file.

use std::sync::Arc;

use bytes::Bytes;

use super::fault::Fault;
use super::person::Person;
use crate::wire::{Http, Request};
use crate::workload::{Step, Template};

impl Person {
    pub(super) async fn request(&mut self, step: &Step) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let Some(template) = &step.http else {
            return Err(Fault::Nothing("a step without a template for HTTP"));
        };
        if self.http.is_none() {
            let endpoint = world.door(&world.target.http)?;
            self.http = Some(Box::new(Http::connect(endpoint, world.plan.timeouts).await?));
        }
        let mut to = Vec::new();
        world.recipients.fill(&mut to, step.recipients, self.number, &mut self.dice);
        let to: Vec<String> = to.iter().map(|p| world.target.people.address(*p)).collect();
        let request = self.fill_in(template, &to.join(","));
        let Some(http) = &mut self.http else { return Ok(()) };
        let response = http.send(&request).await?;
        if response.status >= 400 {
            let Request { method, path, .. } = &request;
            return Err(Fault::Wrong(format!("{method} {path}: status {}", response.status)));
        }
        Ok(())
    }

    fn fill_in(&self, template: &Template, recipients: &str) -> Request {
        let facts = [
            ("{user}", self.address.clone()),
            ("{number}", self.number.to_string()),
            ("{iteration}", self.iteration.to_string()),
            ("{recipients}", recipients.to_owned()),
        ];
        let fill = |text: &str| {
            facts.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value))
        };
        let headers = match &template.body {
            Some(_) => vec![("Content-Type".to_owned(), template.media_type.clone())],
            None => Vec::new(),
        };
        let body = template.body.as_deref().map(fill).unwrap_or_default();
        Request {
            method: template.method.clone(),
            path: fill(&template.path),
            headers,
            body: Bytes::from(body),
            sign_in: Some((self.address.clone(), self.world.target.people.password.clone())),
            keep_octets: 0,
        }
    }
}
